//! Tells cargo when the addon is stale and, where a platform needs it, how to link it.

fn main() {
    // While its folder of type definitions is empty, thus in the first build alone, `napi build` sets NAPI_FORCE_BUILD_PRL_NATIVE to the
    // time of day. `napi_build::setup` has cargo watch that variable: the second build would compile and link everything once more.
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux {
        println!("cargo::rerun-if-env-changed=NAPI_TYPE_DEF_TMP_FOLDER");
        println!("cargo::rerun-if-changed=build.rs");
    } else {
        napi_build::setup();
    }
}
