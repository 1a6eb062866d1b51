//! The committed stubs equal those generated from the .proto files.

use std::error::Error;
use std::path::Path;

#[test]
fn committed_stubs_are_generated_from_the_proto() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let proto = root.join("proto");
    let descriptors = protox::compile(
        [
            "prl/sandbox/v1/sandbox.proto",
            "prl/sandbox/v1/box.proto",
            "grpc/health/v1/health.proto",
        ],
        [&proto],
    )?;
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .bytes(".")
        .client_mod_attribute(".", "#[cfg(feature = \"rpc\")]")
        .server_mod_attribute(".", "#[cfg(feature = \"rpc\")]")
        .out_dir(out.path())
        .compile_fds(descriptors)?;
    for (package, file) in [("prl.sandbox.v1", "src/pb.rs"), ("grpc.health.v1", "src/health_pb.rs")] {
        let generated = std::fs::read_to_string(out.path().join(format!("{package}.rs")))?;
        let committed = root.join(file);
        if std::env::var_os("PRL_BLESS").is_some() {
            std::fs::write(&committed, &generated)?;
        }
        assert!(
            std::fs::read_to_string(&committed)? == generated,
            "{file} is out of date: run the test again with PRL_BLESS=1"
        );
    }
    Ok(())
}
