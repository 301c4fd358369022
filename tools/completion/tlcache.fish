# SPDX-License-Identifier: MIT
# Completion of tlcache for fish. Digests, namespaces, targets and engines are asked of the command itself.

function __tlcache_words
    set -l tokens (commandline -opc)
    set -l dir
    for i in (seq (count $tokens))
        if test "$tokens[$i]" = --dir; and test $i -lt (count $tokens)
            set dir --dir $tokens[(math $i + 1)]
        end
    end
    command tlcache $dir complete-words $argv[1] 2>/dev/null
end

set -l commands compile why get ls show put stats verify gc clear config backends doctor version completion
complete -c tlcache -f
complete -c tlcache -l dir -r -a '(__fish_complete_directories)' -d 'The store\'s folder'
complete -c tlcache -l json -d 'Print facts as JSON'
complete -c tlcache -s q -l quiet -d 'Print only what was asked for'
complete -c tlcache -l read-only -d 'Never write to the store'
complete -c tlcache -l allow-plugins -d 'Load backends from TLC_BACKEND_PATH'
complete -c tlcache -l plugin -r -F -d 'Load a backend from this file'
complete -c tlcache -s h -l help -d 'Show help'

set -l none "not __fish_seen_subcommand_from $commands"
complete -c tlcache -n $none -l version -d 'Show the version'
complete -c tlcache -n $none -a compile -d 'Compile a file, or take what was compiled before'
complete -c tlcache -n $none -a why -d 'Say why a look-up hits or misses'
complete -c tlcache -n $none -a get -d 'Write out what is stored under a digest'
complete -c tlcache -n $none -a ls -d 'List what is stored'
complete -c tlcache -n $none -a show -d 'Show one artifact'
complete -c tlcache -n $none -a put -d 'Store files under a key that you state'
complete -c tlcache -n $none -a stats -d 'Show hits, misses, time saved and evictions'
complete -c tlcache -n $none -a verify -d 'Read everything that is stored and check it'
complete -c tlcache -n $none -a gc -d 'Evict down to the limit and remove leftovers'
complete -c tlcache -n $none -a clear -d 'Remove all entries, or those of a namespace'
complete -c tlcache -n $none -a config -d 'Show the settings, or change the limit'
complete -c tlcache -n $none -a backends -d 'List the backends'
complete -c tlcache -n $none -a doctor -d 'Say where the store is and what is wrong'
complete -c tlcache -n $none -a version -d 'Show the versions'
complete -c tlcache -n $none -a completion -d 'Print the completion script of a shell'

set -l compiles '__fish_seen_subcommand_from compile why'
complete -c tlcache -n "$compiles put" -s t -l target -x -a '(__tlcache_words targets)' -d 'What to compile for'
complete -c tlcache -n "$compiles put" -s e -l engine -x -a '(__tlcache_words engines)' -d 'Which compiler backend'
complete -c tlcache -n "$compiles put" -l label -x -d 'Label for people'
complete -c tlcache -n "$compiles put" -l field -x -d 'A field of the key'
complete -c tlcache -n $compiles -F
complete -c tlcache -n $compiles -s D -l define -x -d 'Define a macro'
complete -c tlcache -n $compiles -s I -l include -x -a '(__fish_complete_directories)' -d 'Folder for headers'
complete -c tlcache -n $compiles -s O -l optimize -x -a '0 1 2 3 s fast' -d 'Optimisation level'
complete -c tlcache -n $compiles -l std -x -d 'Language standard'
complete -c tlcache -n $compiles -l option -x -d 'One more option for the compiler'
complete -c tlcache -n $compiles -l language -x -a 'c c++' -d 'Language'
complete -c tlcache -n $compiles -l compiler -r -F -d 'Program that compiles'
complete -c tlcache -n "$compiles put ls stats clear" -s n -l namespace -x -a '(__tlcache_words namespaces)' -d Namespace
complete -c tlcache -n '__fish_seen_subcommand_from compile get' -s o -l output -r -F -d 'Where to write'
complete -c tlcache -n '__fish_seen_subcommand_from compile' -l closed -d 'A hit needs all it requires'
complete -c tlcache -n '__fish_seen_subcommand_from compile' -l keep-failure -d 'Remember a compile error'
complete -c tlcache -n '__fish_seen_subcommand_from compile' -l no-compile -d 'Only look'
complete -c tlcache -n '__fish_seen_subcommand_from compile' -l timeout -x -d 'How long to wait'
complete -c tlcache -n '__fish_seen_subcommand_from get show why' -a '(__tlcache_words digests)' -d Digest
complete -c tlcache -n '__fish_seen_subcommand_from get' -s m -l member -x -d 'Only this member'
complete -c tlcache -n '__fish_seen_subcommand_from put' -F
complete -c tlcache -n '__fish_seen_subcommand_from put' -s f -x -d 'A field of the key'
complete -c tlcache -n '__fish_seen_subcommand_from put' -l toolchain -x -d 'What made it'
complete -c tlcache -n '__fish_seen_subcommand_from put' -l no-toolchain -d 'Nothing compiled it'
complete -c tlcache -n '__fish_seen_subcommand_from put' -l replace -d 'Publish also when stored'
complete -c tlcache -n '__fish_seen_subcommand_from ls' -s s -l sort -x -a 'age size used' -d Order
complete -c tlcache -n '__fish_seen_subcommand_from ls' -s l -l limit -x -d 'At most so many'
complete -c tlcache -n '__fish_seen_subcommand_from ls' -s a -l all -d 'Also links and failures'
complete -c tlcache -n '__fish_seen_subcommand_from ls' -l long -d 'Whole digests'
complete -c tlcache -n '__fish_seen_subcommand_from stats' -l openmetrics -d 'OpenMetrics text'
complete -c tlcache -n '__fish_seen_subcommand_from verify' -l repair -d 'Take out what is damaged'
complete -c tlcache -n '__fish_seen_subcommand_from gc' -l max -x -d 'Evict down to so many bytes'
complete -c tlcache -n '__fish_seen_subcommand_from clear' -l all -d Everything
complete -c tlcache -n '__fish_seen_subcommand_from config' -x -a limit
complete -c tlcache -n '__fish_seen_subcommand_from completion' -x -a 'bash zsh fish'
