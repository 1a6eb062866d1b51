//! Encrypted connections: which peers are trusted, on both sides.

mod support;

use prl_transport::{
    Address, Credentials, Inbox, RolloutReceiver, RolloutSender, SenderOptions, Times, TlsOptions, TransportError,
    Wanted, WeightNode,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use support::{QUICK, contents, publish};
use tempfile::TempDir;

/// An authority that signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("signed"))
    }

    fn pem(&self) -> Option<String> {
        Some(self.0.pem())
    }

    /// A certificate for this name, and its key.
    fn signed(&self, name: &str) -> Option<(String, String)> {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        Some((certificate.pem(), key.serialize_pem()))
    }
}

fn credentials(tls: TlsOptions) -> Credentials {
    Credentials::new(None, tls).expect("credentials")
}

struct Place {
    dir: TempDir,
    times: Times,
}

impl Place {
    fn new() -> Self {
        let times = Times {
            patience: std::time::Duration::from_millis(500),
            ..QUICK
        };
        Self {
            dir: TempDir::new().expect("a folder"),
            times,
        }
    }

    /// Pulls version 1 from a publisher with `server`'s credentials into a node with `client`'s.
    async fn pull(&self, server: TlsOptions, client: TlsOptions, scheme: &str) -> Result<(), TransportError> {
        let (from, into) = (self.dir.path().join("from"), self.dir.path().join("into"));
        let published = publish(&from, 1, 2, 3 << 20, 1);
        let publisher = WeightNode::new(&from, credentials(server), self.times);
        let port = publisher.listen("127.0.0.1:0").await?.port();
        let source: Address = format!("{scheme}127.0.0.1:{port}").parse()?;
        let node = WeightNode::new(&into, credentials(client), self.times);
        let wanted = Wanted {
            version: Some(1),
            ..Wanted::default()
        };
        let outcome = node.pull(&wanted, &[source]).await;
        publisher.close().await;
        assert!(contents(&outcome?.directory) == published);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_is_believed_by_its_authority_and_name_only() {
    let (ours, others) = (Authority::new(), Authority::new());
    let server = || TlsOptions {
        identity: ours.signed("localhost"),
        ..TlsOptions::default()
    };
    let client = |ca: &Authority, name: &str| TlsOptions {
        ca: ca.pem(),
        server_name: Some(name.to_owned()),
        ..TlsOptions::default()
    };
    let place = Place::new();
    place
        .pull(server(), client(&ours, "localhost"), "")
        .await
        .expect("believed");
    for (what, wrong, scheme) in [
        ("another authority", client(&others, "localhost"), ""),
        ("another name", client(&ours, "elsewhere"), ""),
        ("not encrypted", TlsOptions::default(), ""),
    ] {
        let error = Place::new().pull(server(), wrong, scheme).await.expect_err(what);
        assert_eq!(error.code(), "PRL_TRANSPORT_UNREACHABLE", "{what}: {error}");
    }
    let error = Place::new().pull(server(), TlsOptions::default(), "https://").await;
    assert_eq!(error.expect_err("no authority").code(), "PRL_TRANSPORT_TLS");
    let error = Place::new()
        .pull(TlsOptions::default(), client(&ours, "localhost"), "")
        .await;
    assert_eq!(
        error.expect_err("a listener without TLS").code(),
        "PRL_TRANSPORT_UNREACHABLE"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_without_a_certificate_of_the_authority_gets_nothing() {
    let (ours, others) = (Authority::new(), Authority::new());
    let server = || TlsOptions {
        identity: ours.signed("127.0.0.1"),
        client_ca: ours.pem(),
        ..TlsOptions::default()
    };
    let client = |identity| TlsOptions {
        ca: ours.pem(),
        identity,
        ..TlsOptions::default()
    };
    // No name is given: the host of the address must be in the certificate.
    Place::new()
        .pull(server(), client(ours.signed("engine")), "https://")
        .await
        .expect("known");
    for (what, identity) in [("none", None), ("a stranger's", others.signed("engine"))] {
        let error = Place::new().pull(server(), client(identity), "").await.expect_err(what);
        assert_eq!(error.code(), "PRL_TRANSPORT_UNREACHABLE", "{what}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_travel_encrypted_and_certificates_replace_the_token_beyond_this_machine() {
    let ours = Authority::new();
    let dir = TempDir::new().expect("a folder");
    let (spool, inbox) = (dir.path().join("spool"), dir.path().join("inbox"));
    let server = credentials(TlsOptions {
        identity: ours.signed("localhost"),
        client_ca: ours.pem(),
        ..TlsOptions::default()
    });
    let receiver = RolloutReceiver::listen("0.0.0.0:0", Inbox::new(&inbox, "run"), &server, QUICK).await;
    let receiver = receiver.expect("strangers are kept out");
    let sender = RolloutSender::new(SenderOptions {
        spool: spool.clone(),
        receivers: vec![
            format!("localhost:{}", receiver.address().port())
                .parse()
                .expect("an address"),
        ],
        credentials: credentials(TlsOptions {
            identity: ours.signed("orchestrator"),
            ca: ours.pem(),
            ..TlsOptions::default()
        }),
        times: QUICK,
    });
    let bytes = support::write_batch(&spool, (1, 1, 0), 3 << 20, 1);
    assert_eq!(sender.deliver().await.expect("delivered"), 1);
    assert!(std::fs::read(support::batch_path(&inbox, 1, 0)).expect("a batch") == bytes);
    let encrypting = TlsOptions {
        identity: ours.signed("localhost"),
        ..TlsOptions::default()
    };
    let open = WeightNode::new(dir.path().join("weights"), credentials(encrypting), QUICK);
    let error = open.listen("0.0.0.0:0").await.expect_err("anyone could call");
    assert_eq!(error.code(), "PRL_TRANSPORT_ADDRESS");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_cannot_be_used_are_named_at_once() {
    let ours = Authority::new();
    let error = Credentials::new(
        None,
        TlsOptions {
            client_ca: ours.pem(),
            ..TlsOptions::default()
        },
    );
    assert_eq!(error.expect_err("no certificate").code(), "PRL_TRANSPORT_TLS");
    let nonsense = TlsOptions {
        identity: Some(("no certificate".to_owned(), "no key".to_owned())),
        ..TlsOptions::default()
    };
    let error = Place::new().pull(nonsense, TlsOptions::default(), "").await;
    assert_eq!(error.expect_err("nonsense").code(), "PRL_TRANSPORT_TLS");
}
