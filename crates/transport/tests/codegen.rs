//! The committed stubs equal those generated from the .proto file.

use std::error::Error;
use std::path::Path;

#[test]
fn committed_stubs_are_generated_from_the_proto() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let proto = root.join("proto");
    let descriptors = protox::compile(["prl/transport/v1/transport.proto"], [&proto])?;
    let out = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .bytes(".")
        .out_dir(out.path())
        .compile_fds(descriptors)?;
    let generated = std::fs::read_to_string(out.path().join("prl.transport.v1.rs"))?;
    let committed = root.join("src/pb.rs");
    if std::env::var_os("PRL_BLESS").is_some() {
        std::fs::write(&committed, &generated)?;
    }
    assert!(
        std::fs::read_to_string(&committed)? == generated,
        "src/pb.rs is out of date: run the test again with PRL_BLESS=1"
    );
    Ok(())
}
