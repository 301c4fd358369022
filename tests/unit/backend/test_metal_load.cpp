// SPDX-License-Identifier: MIT
// Loading through a Metal made for tests: devices, functions, errors, and what never reaches it. The real one is
// backends/metal/runtime.mm, which no test here runs.
#include "tlc_test.hpp"

#include <set>

#include "../cache/cache_support.hpp"
#include "metal/metal.hpp"
#include "metal_support.hpp"
#include "scratch.hpp"
#include "support/failure.hpp"
#include "support/slots.hpp"

using namespace tlc;
using namespace tlc::test;
using tlcb::Failure;
using namespace tlcb::metal;

namespace {

/// What the fake says, and what it was asked.
struct World {
  Outcome refuse;  ///< ok: nothing is refused
  int opened = 0;
  int loads = 0;
  std::string text;  ///< of the last load
  LoadOptions options;
  Version language;
  DeviceChoice choice;
  std::set<void*> alive;
};
World world;

/// A library or a function.
struct Object {
  std::string name;
  std::string of;
};

class FakeMetal : public Runtime {
 public:
  DeviceFacts device(const DeviceChoice& choice) override {
    if (choice.number > 1) throw Failure(TLC_E_INVALID, "there is no device " + std::to_string(choice.number));
    const bool second = choice.number == 1 || choice.context != nullptr;
    if (second) return {"Old Mac", 200, {"common1", "mac1", "mac2"}, "metal:mac2:macos13.0"};
    return {"M9", 100, {"common3", "apple6", "apple7", "metal3"}, "metal:apple7:macos15.1"};
  }
  std::vector<DeviceFacts> devices() override { return {device({}), device({nullptr, 1})}; }

  void* library_of_source(const DeviceChoice& choice, std::string_view text, const LoadOptions& options,
                          Version language, Outcome& outcome) override {
    world.options = options;
    world.language = language;
    return library(choice, text, outcome);
  }
  void* library_of_metallib(const DeviceChoice& choice, std::string_view bytes, Outcome& outcome) override {
    return library(choice, bytes, outcome);
  }

  void* function(void* library, const std::string& name) override {
    return name == "add" ? made({name, static_cast<Object*>(library)->of}) : nullptr;
  }
  std::vector<std::string> function_names(void* /*library*/) override { return {"add", "mul"}; }
  void release(void* object) override {
    assert_u64(world.alive.erase(object), 1);
    const std::unique_ptr<Object> gone(static_cast<Object*>(object));
  }

 private:
  static void* made(Object object) {
    void* const out = std::make_unique<Object>(std::move(object)).release();
    world.alive.insert(out);
    return out;
  }

  static void* library(const DeviceChoice& choice, std::string_view text, Outcome& outcome) {
    ++world.loads;
    world.text = text;
    world.choice = choice;
    outcome = world.refuse;
    return outcome.ok() ? made({"library", std::string(text)}) : nullptr;
  }
};

std::unique_ptr<Runtime> open_fake() {
  ++world.opened;
  return std::make_unique<FakeMetal>();
}

constexpr const char* kKinds[] = {"metal", nullptr};
constexpr tlc_backend_ops kTable = tlcb::Slots<State>::table("Metal made for tests", "metal", kKinds, 0);

/// States live as long as the process, as a built-in backend's do.
State* new_state() {
  static auto* const all = new std::vector<std::unique_ptr<State>>;
  all->push_back(std::make_unique<State>(tlcb::Host(fake_host()), open_fake));
  return all->back().get();
}

const backend::Ops& ops() {
  static const backend::Ops all = backend::Ops::negotiate(&kTable, new_state(), "a test").value();
  return all;
}

int reset(void**) {
  (void)ops();
  world = World();
  return 0;
}

tlc_load_options options_for(std::int64_t device) {
  tlc_load_options options;
  tlc_load_options_init(&options);
  options.device = device;
  return options;
}

Result<void*> load(FakeBundle& artifact, const tlc_load_options* options = nullptr) {
  if (auto fits = ops().validate(nullptr, artifact, options); !fits) return fits.error();
  return ops().load(nullptr, artifact, options);
}

void metal_is_not_touched_before_it_is_needed(void**) {
  const auto fresh = backend::Ops::negotiate(&kTable, new_state(), "a test");
  assert_ok(fresh);
  assert_ok(fresh->resolve_target(nullptr, "metal:apple7"));
  assert_ok(fresh->identify(nullptr, FakeRequest(), "metal:apple7"));
  assert_int_equal(world.opened, 0);
  assert_string_equal(fresh->resolve_target(nullptr, "metal:native").value().c_str(), "metal:apple7:macos15.1");
  assert_string_equal(fresh->resolve_target(nullptr, "metal:auto").value().c_str(), "metal:apple7:macos15.1");
  assert_int_equal(world.opened, 1);
}

void a_text_is_compiled_with_its_options(void**) {
  FakeBundle artifact = metal_artifact(kAddMetal, "metal:apple7:msl3.1");
  artifact.members.push_back({"options.json", TLC_MEMBER_JSON, R"({"define.N": "4", "math": "precise"})"});
  auto module = load(artifact);
  assert_ok(module);
  assert_string_equal(world.text.c_str(), kAddMetal);
  assert_string_equal(world.options.macros.at("N").c_str(), "4");
  assert_true(world.options.fast_math == false);
  assert_string_equal(world.language.text().c_str(), "3.1");
  ops().unload(*module);
  artifact.members[1].bytes = "{\"math\": 1}";
  assert_fails(load(artifact), TLC_REJECTED, "options.json");
}

void functions_are_kept_until_the_module_ends(void**) {
  FakeBundle artifact = metal_artifact(MadeMetallib().bytes());
  auto module = load(artifact);
  assert_ok(module);
  assert_true(world.text == MadeMetallib().bytes());
  const auto one = ops().symbol(*module, "add");
  assert_ok(one);
  assert_ptr_equal(*one, ops().symbol(*module, "add").value());
  assert_true(ops().native(*module) != *module);
  assert_u64(world.alive.count(ops().native(*module)), 1);
  assert_u64(world.alive.size(), 2);
  assert_fails(ops().symbol(*module, "absent"), TLC_E_NOT_FOUND, "add, mul");
  ops().unload(*module);
  assert_u64(world.alive.size(), 0);
}

void modules_with_equal_names_stay_apart(void**) {
  FakeBundle first = metal_artifact(kAddMetal);
  FakeBundle second = metal_artifact(std::string(kAddMetal) + "// another\n");
  auto one = load(first);
  auto two = load(second);
  assert_ok(one);
  assert_ok(two);
  assert_true(ops().native(*one) != ops().native(*two));
  assert_string_equal(static_cast<Object*>(ops().symbol(*one, "add").value())->of.c_str(), kAddMetal);
  const auto other = ops().symbol(*two, "add");
  assert_ok(other);
  assert_true(contains(static_cast<Object*>(*other)->of, "another"));
  ops().unload(*one);
  assert_u64(world.alive.count(*other), 1);
  ops().unload(*two);
}

void a_module_belongs_to_its_device(void**) {
  const tlc_load_options second = options_for(1);
  assert_u64(ops().place(nullptr, nullptr).value(), 100);
  assert_u64(ops().place(nullptr, &second).value(), 200);
  tlc_load_options own = options_for(-1);
  own.context = &world;
  assert_u64(ops().place(nullptr, &own).value(), 200);
  FakeBundle artifact = metal_artifact(kAddMetal, "metal:common1");
  auto module = load(artifact, &own);
  assert_ok(module);
  assert_ptr_equal(world.choice.context, &world);
  ops().unload(*module);
  const tlc_load_options absent = options_for(2);
  assert_fails(load(artifact, &absent), TLC_E_INVALID, "no device 2");
  const tlc_load_options odd = options_for(-5);
  assert_fails(load(artifact, &odd), TLC_E_INVALID, "no device -5");
}

void wrong_code_never_reaches_metal(void**) {
  const auto rejected = [](FakeBundle artifact, const char* part, const tlc_load_options* options = nullptr) {
    assert_fails(load(artifact, options), TLC_REJECTED, part);
    assert_int_equal(world.loads, 0);
  };
  const std::string good = MadeMetallib().bytes();
  FakeBundle cut = metal_artifact(good.substr(0, good.size() - 3));
  rejected(cut, "cut or damaged");
  // validate and load both look: a caller may skip the first.
  assert_fails(ops().load(nullptr, cut, nullptr), TLC_REJECTED, "cut or damaged");
  std::string flipped = good;
  flipped[good.find("code of add")] ^= 1;
  rejected(metal_artifact(flipped), "not what its hash says");
  FakeBundle empty = metal_artifact(good);
  empty.members[0].bytes.clear();
  rejected(empty, "empty");
  rejected(metal_artifact("int x; /* open"), "comment");
  rejected(metal_artifact("int \xff;"), "UTF-8");
  rejected(metal_artifact(good, "metal:macos13.0"), "needs macos 14.0");
  rejected(metal_artifact(good, "metal:msl3.0"), "language version 3.1");
  rejected(metal_artifact(good, "metal:apple8"),
           "'M9' is of common3, apple6, apple7, metal3; compile for metal:native");
  const tlc_load_options second = options_for(1);
  rejected(metal_artifact(kAddMetal, "metal:apple7"), "'Old Mac' is of common1, mac1, mac2", &second);
}

void what_metal_refuses_is_said(void**) {
  FakeBundle library = metal_artifact(MadeMetallib().bytes());
  FakeBundle source = metal_artifact(kAddMetal);
  world.refuse = {"MTLLibraryErrorDomain", 2, "what Metal says"};
  auto refused = load(library);
  assert_fails(refused, TLC_E_LOAD, "MTLLibraryErrorDomain (2): what Metal says");
  assert_u64(refused.error().backend_code, 2);
  world.refuse.code = 3;
  assert_fails(load(source), TLC_E_COMPILE, "could not compile member 'kernel.metal'");
  world.refuse.domain = "NSPOSIXErrorDomain";
  assert_fails(load(library), TLC_E_UNAVAILABLE, "NSPOSIXErrorDomain (3)");
  assert_u64(world.alive.size(), 0);
}

void without_metal_it_is_said_what_is_missing(void**) {
  const backend::Ops& real = metal_ops();  // of this system
  FakeBundle artifact = metal_artifact(kAddMetal);
  assert_ok(real.validate(nullptr, artifact, nullptr));
  assert_fails(real.load(nullptr, artifact, nullptr), TLC_E_UNAVAILABLE, "loaded on a Mac");
  assert_fails(real.place(nullptr, nullptr), TLC_E_UNAVAILABLE, "loaded on a Mac");
  assert_fails(real.resolve_target(nullptr, "metal:native"), TLC_E_UNAVAILABLE, "for example metal:apple7");
  FakeBundle broken = metal_artifact("MTLB");
  assert_fails(real.validate(nullptr, broken, nullptr), TLC_REJECTED, "shorter than");
}

tlc_status counting_compile(const tlc_request*, const tlc_key*, tlc_bundle* bundle, tlc_log*, tlc_error* error,
                            void* count) {
  ++*static_cast<int*>(count);
  const std::string code = MadeMetallib().bytes();
  return tlc_bundle_add(bundle, str("kernel.metallib"), TLC_MEMBER_DEVICE_BINARY, code.data(), code.size(), 0, error);
}

void a_refused_library_is_compiled_again_once(void**) {
  const Scratch scratch;
  const Own<tlc_cache> cache = open_cache(scratch.path());
  State* const state = std::make_unique<State>(tlcb::Host(tlc_host()), open_fake).release();  // the cache closes it
  assert_int_equal(tlc_cache_register_backend(cache.get(), &kTable, state, 0, nullptr), TLC_OK);
  int compiles = 0;
  const auto load_once = [&] {
    const Own<tlc_artifact> artifact = get_or_compile(cache.get(), "metal:apple7", "metal", counting_compile, compiles);
    tlc_module* module = nullptr;
    const tlc_status status = tlc_cache_load(cache.get(), artifact.get(), nullptr, &module, nullptr);
    if (module != nullptr) tlc_module_release(module);
    return status;
  };
  world.refuse = {"MTLLibraryErrorDomain", 2, "damaged"};
  assert_int_equal(load_once(), TLC_E_LOAD);
  assert_int_equal(compiles, 1);
  world.refuse = {};
  assert_int_equal(load_once(), TLC_OK);
  assert_int_equal(compiles, 2);
  assert_int_equal(load_once(), TLC_OK);
  assert_int_equal(compiles, 2);
  world.refuse = {"NSPOSIXErrorDomain", 12, "no memory"};  // not the library's fault: it stays in the cache
  assert_int_equal(load_once(), TLC_E_UNAVAILABLE);
  assert_int_equal(load_once(), TLC_E_UNAVAILABLE);
  assert_int_equal(compiles, 2);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup(metal_is_not_touched_before_it_is_needed, reset),
      cmocka_unit_test_setup(a_text_is_compiled_with_its_options, reset),
      cmocka_unit_test_setup(functions_are_kept_until_the_module_ends, reset),
      cmocka_unit_test_setup(modules_with_equal_names_stay_apart, reset),
      cmocka_unit_test_setup(a_module_belongs_to_its_device, reset),
      cmocka_unit_test_setup(wrong_code_never_reaches_metal, reset),
      cmocka_unit_test_setup(what_metal_refuses_is_said, reset),
      cmocka_unit_test_setup(without_metal_it_is_said_what_is_missing, reset),
      cmocka_unit_test_setup(a_refused_library_is_compiled_again_once, reset),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
