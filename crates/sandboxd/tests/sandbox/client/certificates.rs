//! Encrypted connections: which certificates each side accepts.

use std::fs;

use prl_sandbox_client::{ClientError, ConnectOptions, TlsOptions};
use prl_sandbox_proto::Cause;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use super::{Outcome, Result, connect, never, run, tcp, text};
use crate::support::Daemon;

/// An authority that signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for this name, and its key.
    fn signed(&self, name: &str) -> Result<(String, String)> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec![name.to_owned()])?.signed_by(&key, &self.0)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

/// A daemon with a certificate for `localhost`, with further arguments.
fn daemon(authority: &Authority, folder: &TempDir, more: &[&str]) -> Result<Option<Daemon>> {
    let (certificate, key) = authority.signed("localhost")?;
    let (certificate_file, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&certificate_file, certificate)?;
    fs::write(&key_file, key)?;
    let (certificate_file, key_file) = (text(&certificate_file), text(&key_file));
    let mut arguments = vec![
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        &certificate_file,
        "--tls-key",
        &key_file,
    ];
    arguments.extend(more);
    Daemon::start_with(&arguments, &[("PRL_SANDBOX_TOKEN", "")])
}

fn options(ca: String, identity: Option<(String, String)>, token: Option<&str>) -> ConnectOptions {
    ConnectOptions {
        token: token.map(str::to_owned),
        tls: Some(TlsOptions {
            ca,
            identity,
            server_name: Some("localhost".to_owned()),
        }),
        connect_timeout: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_is_believed_by_its_authority_and_name_only() -> Outcome {
    let (ours, others, folder) = (Authority::new()?, Authority::new()?, tempfile::tempdir()?);
    let token = folder.path().join("token");
    fs::write(&token, "the-token")?;
    let Some(daemon) = daemon(&ours, &folder, &["--token-file", &text(&token)])? else {
        return Ok(());
    };
    let address = [format!("https://{}", tcp(&daemon)?)];
    let client = connect(&address, options(ours.pem(), None, Some("the-token"))).await?;
    let outcome = client.run_once(run(&["true"], "k"), &never()).await?;
    assert_eq!(outcome.result.cause(), Cause::Exited, "{outcome:?}");

    let unbelieved = connect(&address, options(others.pem(), None, Some("the-token"))).await;
    assert!(unbelieved.is_err_and(|error| error.to_string().contains("no sandbox daemon answers")));
    let mut misnamed = options(ours.pem(), None, Some("the-token"));
    misnamed.tls.get_or_insert_default().server_name = Some("elsewhere".to_owned());
    assert!(connect(&address, misnamed).await.is_err());
    let plain = ConnectOptions {
        token: Some("the-token".to_owned()),
        ..ConnectOptions::default()
    };
    assert!(
        connect(&[tcp(&daemon)?], plain.clone()).await.is_err(),
        "not without encryption"
    );
    let error = connect(&address, plain).await.expect_err("https needs an authority");
    assert!(
        matches!(error.downcast_ref(), Some(ClientError::Address { .. })),
        "{error}"
    );
    let tokenless = connect(&address, options(ours.pem(), None, None)).await;
    let error = tokenless.expect_err("the token is still needed");
    assert!(matches!(error.downcast_ref(), Some(ClientError::Auth(_))), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_believed_by_its_certificate() -> Outcome {
    let (ours, others, folder) = (Authority::new()?, Authority::new()?, tempfile::tempdir()?);
    let ca = folder.path().join("ca.pem");
    fs::write(&ca, ours.pem())?;
    let Some(daemon) = daemon(&ours, &folder, &["--tls-client-ca", &text(&ca)])? else {
        return Ok(());
    };
    let address = [tcp(&daemon)?];
    let client = connect(&address, options(ours.pem(), Some(ours.signed("a client")?), None)).await?;
    let outcome = client.run_once(run(&["true"], "k"), &never()).await?;
    assert_eq!(outcome.result.cause(), Cause::Exited, "{outcome:?}");

    let without = connect(&address, options(ours.pem(), None, None)).await;
    assert!(without.is_err(), "no certificate");
    let foreign = connect(&address, options(ours.pem(), Some(others.signed("a client")?), None)).await;
    assert!(foreign.is_err(), "of another authority");
    Ok(())
}

#[test]
fn half_a_configuration_does_not_start() -> Outcome {
    let (authority, folder) = (Authority::new()?, tempfile::tempdir()?);
    let nonsense = folder.path().join("nonsense.pem");
    fs::write(&nonsense, "nonsense")?;
    let nonsense = text(&nonsense);
    for arguments in [
        vec!["--listen", "127.0.0.1:0", "--tls-cert", &nonsense],
        vec!["--listen", "127.0.0.1:0", "--tls-client-ca", &nonsense],
        vec!["--listen", "127.0.0.1:0"],
        vec![
            "--listen",
            "127.0.0.1:0",
            "--token-file",
            &nonsense,
            "--tls-cert",
            &nonsense,
            "--tls-key",
            &nonsense,
        ],
    ] {
        let started = Daemon::start_with(&arguments, &[("PRL_SANDBOX_TOKEN", "")]);
        let Err(error) = started else {
            return Err(format!("{arguments:?} starts").into());
        };
        assert!(
            error.to_string().contains("PRL_SANDBOX_USAGE"),
            "{arguments:?}: {error}"
        );
    }
    drop(authority);
    Ok(())
}
