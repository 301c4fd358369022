/* SPDX-License-Identifier: MIT */
/*
 * The slots of backends that are written in Python: what stands in their tables. Each hands over to the function of
 * Python of the same name (tlcache/_slots.py), unless the interpreter is going away: a library may be asked to unload a
 * module after that, and Python can no longer be entered.
 */
#include <stdatomic.h>

static tlc_status tlcpy_slot_resolve_target(void* state, tlc_call* call, tlc_str target, tlc_blob** resolved,
                                            tlc_error* error);
static tlc_status tlcpy_slot_identify(void* state, tlc_call* call, const tlc_request* request, tlc_str target,
                                      tlc_blob** identity, tlc_error* error);
static tlc_status tlcpy_slot_compile(void* state, tlc_call* call, const tlc_request* request, tlc_str target,
                                     tlc_bundle* bundle, tlc_log* log, tlc_error* error);
static tlc_status tlcpy_slot_validate(void* state, tlc_call* call, const tlc_artifact* artifact,
                                      const tlc_load_options* options, tlc_error* error);
static tlc_status tlcpy_slot_place(void* state, tlc_call* call, const tlc_load_options* options, uint64_t* place,
                                   tlc_error* error);
static tlc_status tlcpy_slot_load(void* state, tlc_call* call, tlc_artifact* artifact, const tlc_load_options* options,
                                  void** module, tlc_error* error);
static tlc_status tlcpy_slot_symbol(void* state, void* module, tlc_str name, void** address, tlc_error* error);
static void* tlcpy_slot_native(void* state, void* module);
static void tlcpy_slot_unload(void* state, void* module);
static tlc_status tlcpy_slot_probe(void* state, tlc_call* call, tlc_blob** json, tlc_error* error);
static void tlcpy_slot_close(void* state);
static tlc_status tlcpy_slot_describe(void* state, tlc_call* call, const tlc_artifact* artifact, tlc_blob** json,
                                      tlc_error* error);

static atomic_int interpreter_ends;

/* From here on no slot enters Python. */
static void tlcpy_slots_end(void) {
  atomic_store(&interpreter_ends, 1);
}

static tlc_status ending(tlc_error* error) {
  static const char message[] = "the backend is written in Python, and the interpreter is ending";
  return tlcpy_fail(error, TLC_E_UNAVAILABLE, message, sizeof message - 1);
}

static tlc_status slot_resolve_target(void* state, tlc_call* call, tlc_str target, tlc_blob** resolved,
                                      tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error)
                                        : tlcpy_slot_resolve_target(state, call, target, resolved, error);
}

static tlc_status slot_identify(void* state, tlc_call* call, const tlc_request* request, tlc_str target,
                                tlc_blob** identity, tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error)
                                        : tlcpy_slot_identify(state, call, request, target, identity, error);
}

static tlc_status slot_compile(void* state, tlc_call* call, const tlc_request* request, tlc_str target,
                               tlc_bundle* bundle, tlc_log* log, tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error)
                                        : tlcpy_slot_compile(state, call, request, target, bundle, log, error);
}

static tlc_status slot_validate(void* state, tlc_call* call, const tlc_artifact* artifact,
                                const tlc_load_options* options, tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error) : tlcpy_slot_validate(state, call, artifact, options, error);
}

static tlc_status slot_place(void* state, tlc_call* call, const tlc_load_options* options, uint64_t* place,
                             tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error) : tlcpy_slot_place(state, call, options, place, error);
}

static tlc_status slot_load(void* state, tlc_call* call, tlc_artifact* artifact, const tlc_load_options* options,
                            void** module, tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error)
                                        : tlcpy_slot_load(state, call, artifact, options, module, error);
}

static tlc_status slot_symbol(void* state, void* module, tlc_str name, void** address, tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error) : tlcpy_slot_symbol(state, module, name, address, error);
}

static void* slot_native(void* state, void* module) {
  return atomic_load(&interpreter_ends) ? NULL : tlcpy_slot_native(state, module);
}

static void slot_unload(void* state, void* module) {
  if (!atomic_load(&interpreter_ends)) tlcpy_slot_unload(state, module);
}

static tlc_status slot_probe(void* state, tlc_call* call, tlc_blob** json, tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error) : tlcpy_slot_probe(state, call, json, error);
}

static void slot_close(void* state) {
  if (!atomic_load(&interpreter_ends)) tlcpy_slot_close(state);
}

static tlc_status slot_describe(void* state, tlc_call* call, const tlc_artifact* artifact, tlc_blob** json,
                                tlc_error* error) {
  return atomic_load(&interpreter_ends) ? ending(error) : tlcpy_slot_describe(state, call, artifact, json, error);
}

/* Puts a slot into the table by its name; 0: there is none of this name. */
static int tlcpy_slot_set(tlc_backend_ops* ops, const char* name) {
#define TLCPY_SLOT(member)          \
  if (strcmp(name, #member) == 0) { \
    ops->member = slot_##member;    \
    return 1;                       \
  }
  TLCPY_SLOT(resolve_target)
  TLCPY_SLOT(identify)
  TLCPY_SLOT(compile)
  TLCPY_SLOT(validate)
  TLCPY_SLOT(place)
  TLCPY_SLOT(load)
  TLCPY_SLOT(symbol)
  TLCPY_SLOT(native)
  TLCPY_SLOT(unload)
  TLCPY_SLOT(probe)
  TLCPY_SLOT(close)
  TLCPY_SLOT(describe)
#undef TLCPY_SLOT
  return 0;
}

/* struct_size of the table. */
static size_t tlcpy_size_of_ops(void) {
  return TLC_BACKEND_OPS_SIZE;
}
