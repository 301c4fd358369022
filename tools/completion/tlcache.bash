# SPDX-License-Identifier: MIT
# Completion of tlcache for bash. Digests, namespaces, targets and engines are asked of the command itself.

# Words of a kind, from the store that --dir on the command line names, if it does.
_tlcache_ask() {
  local i dir=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == --dir ]] && dir=(--dir "${COMP_WORDS[i + 1]}")
  done
  command "${COMP_WORDS[0]}" "${dir[@]}" complete-words "$1" 2>/dev/null
}

_tlcache_options() {
  local compile='--target --engine --define --include --optimize --std --option --language --compiler --field
    --namespace --label'
  local all='--dir --json --quiet --read-only --allow-plugins --plugin --help'
  case $1 in
    compile) echo "$compile --output --closed --keep-failure --no-compile --timeout $all" ;;
    why) echo "$compile $all" ;;
    get) echo "--output --member $all" ;;
    put) echo "--namespace --field --target --engine --toolchain --no-toolchain --label --replace $all" ;;
    ls) echo "--namespace --sort --limit --all --long $all" ;;
    stats) echo "--namespace --openmetrics $all" ;;
    verify) echo "--repair $all" ;;
    gc) echo "--max $all" ;;
    clear) echo "--namespace --all $all" ;;
    *) echo "$all" ;;
  esac
}

_tlcache() {
  local commands='compile why get ls show put stats verify gc clear config backends doctor version completion'
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} chosen='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -z $chosen && " $commands " == *" $word "* ]]; then chosen=$word; fi
  done
  COMPREPLY=()
  case $previous in
    --namespace | -n) COMPREPLY=($(compgen -W "$(_tlcache_ask namespaces)" -- "$current")); return ;;
    --target | -t) COMPREPLY=($(compgen -W "$(_tlcache_ask targets)" -- "$current")); return ;;
    --engine | -e) COMPREPLY=($(compgen -W "$(_tlcache_ask engines)" -- "$current")); return ;;
    --sort | -s) COMPREPLY=($(compgen -W 'age size used' -- "$current")); return ;;
    --language) COMPREPLY=($(compgen -W 'c c++' -- "$current")); return ;;
    --dir | --include | -I) compopt -o filenames; COMPREPLY=($(compgen -d -- "$current")); return ;;
    --output | -o | --plugin | --compiler) compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [[ $current == -* ]]; then
    local options
    options=$(_tlcache_options "$chosen")
    [[ -z $chosen ]] && options+=' --version'
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
  case $chosen in
    '') COMPREPLY=($(compgen -W "$commands" -- "$current")) ;;
    get | show) COMPREPLY=($(compgen -W "$(_tlcache_ask digests)" -- "$current")) ;;
    why)
      compopt -o filenames
      COMPREPLY=($(compgen -f -- "$current") $(compgen -W "$(_tlcache_ask digests)" -- "$current"))
      ;;
    compile | put) compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")) ;;
    config) COMPREPLY=($(compgen -W 'limit' -- "$current")) ;;
    completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- "$current")) ;;
  esac
}

complete -F _tlcache tlcache
