//! Callers: the bearer token of a call decides its tenant.
//!
//! A tenant sees its own boxes, snapshots and keys. An id of another tenant looks like one that never existed. Calls on
//! the Unix socket, and on TCP where no tokens are set (client certificates then), belong to the tenant `default`.

mod results;

use std::sync::Arc;

use prl_sandbox_proto::ERROR_CODE_KEY;
use tonic::metadata::MetadataValue;
use tonic::{Request, Status};

pub(crate) use results::{Kept, Results, Share};

const DEFAULT: &str = "default";
const MAX_NAME_BYTES: usize = 64;

/// The name of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tenant(Arc<str>);

impl Default for Tenant {
    fn default() -> Self {
        Self(DEFAULT.into())
    }
}

impl Tenant {
    /// The caller of an admitted request.
    pub(crate) fn of<T>(request: &Request<T>) -> Self {
        request.extensions().get().cloned().unwrap_or_default()
    }

    /// The caller of a request at the HTTP level.
    pub(crate) fn of_extensions(extensions: &hyper::http::Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// The beginning of every name of this tenant, and of no other tenant's names.
    pub(crate) fn prefix(&self) -> String {
        format!("{}\0", self.0)
    }

    /// The full name of an idempotency key of this tenant. Keys of runs and of each box's execs never collide.
    pub(crate) fn key(&self, r#box: &str, key: &str) -> String {
        if key.is_empty() {
            return String::new();
        }
        format!("{}\0{}\0{key}", self.0, r#box)
    }

    /// A name that this tenant has chosen, made distinct from the same name of other tenants. The empty name stays
    /// empty.
    pub(crate) fn scoped(&self, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        format!("{}\0{name}", self.0)
    }
}

/// The tokens that are admitted.
#[derive(Clone, Debug)]
pub(crate) struct Tokens(Arc<[(Tenant, String)]>);

impl Tokens {
    /// One token of the tenant `default`.
    pub(crate) fn single(token: &str) -> Self {
        Self([(Tenant::default(), token.to_owned())].into())
    }

    /// Reads lines `name:token`, or a single token. Empty lines do not count; a tenant may have several tokens.
    ///
    /// # Errors
    /// The reason, without the token.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if let [token] = lines[..]
            && !token.contains(':')
        {
            return Ok(Self::single(token));
        }
        let mut tokens: Vec<(Tenant, String)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let (name, token) = line
                .split_once(':')
                .ok_or_else(|| format!("line {}: expected name:token", at + 1))?;
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(plain) {
                return Err(format!(
                    "line {}: a tenant's name is 1 to {MAX_NAME_BYTES} letters, digits, '-', '_', '.'",
                    at + 1
                ));
            }
            if token.is_empty() || tokens.iter().any(|(_, other)| other == token) {
                return Err(format!("line {}: the token is empty or given twice", at + 1));
            }
            tokens.push((Tenant(name.into()), token.to_owned()));
        }
        if tokens.is_empty() {
            return Err("it holds no token".to_owned());
        }
        Ok(Self(tokens.into()))
    }

    /// Admits a call with one of the tokens, and marks it with its tenant.
    pub(crate) fn admit(&self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let given = request
            .metadata()
            .get("authorization")
            .map(|value| value.as_bytes())
            .unwrap_or_default();
        let given = given.strip_prefix(b"Bearer ").unwrap_or_default();
        // All tokens are compared in full, so that the time reveals nothing about any of them.
        let mut caller = None;
        for (tenant, token) in &*self.0 {
            if same(given, token.as_bytes()) {
                caller = Some(tenant.clone());
            }
        }
        if let Some(tenant) = caller {
            request.extensions_mut().insert(tenant);
            return Ok(request);
        }
        let mut status = Status::unauthenticated("a bearer token is needed");
        status.metadata_mut().insert(
            ERROR_CODE_KEY,
            MetadataValue::from_static("PRL_SANDBOX_UNAUTHENTICATED"),
        );
        Err(status)
    }
}

/// Equality in a time that depends on the length of `given` only.
fn same(given: &[u8], token: &[u8]) -> bool {
    let differing = given
        .iter()
        .zip(token.iter().cycle())
        .fold(0, |bits, (a, b)| bits | std::hint::black_box(a ^ b));
    differing == 0 && given.len() == token.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(tokens: &Tokens, authorization: &str) -> Option<Tenant> {
        let mut request = Request::new(());
        let value = authorization.parse().expect("ascii");
        request.metadata_mut().insert("authorization", value);
        tokens.admit(request).ok().map(|request| Tenant::of(&request))
    }

    #[test]
    fn a_token_names_its_tenant() {
        let tokens = Tokens::parse("a:first\n\nb:second\na:third\n").expect("three tokens");
        assert_eq!(caller(&tokens, "Bearer first"), Some(Tenant("a".into())));
        assert_eq!(caller(&tokens, "Bearer second"), Some(Tenant("b".into())));
        assert_eq!(caller(&tokens, "Bearer third"), Some(Tenant("a".into())));
        for wrong in [
            "",
            "Bearer ",
            "Bearer firs",
            "Bearer firstfirst",
            "bearer first",
            "first",
            "Bearer a:first",
        ] {
            assert_eq!(caller(&tokens, wrong), None, "{wrong:?}");
        }
        let bare = Tokens::parse(" secret \n").expect("one token");
        assert_eq!(caller(&bare, "Bearer secret"), Some(Tenant::default()));
    }

    #[test]
    fn a_wrong_file_is_reported_by_line_and_without_its_tokens() {
        for (text, needle) in [
            ("", "no token"),
            ("a:secret\nsecret2", "line 2"),
            ("a b:secret", "line 1"),
            (":secret", "line 1"),
            ("a:", "line 1"),
            ("a:secret\nb:secret", "line 2"),
        ] {
            let message = Tokens::parse(text).expect_err(text);
            assert!(
                message.contains(needle) && !message.contains("secret"),
                "{text:?}: {message}"
            );
        }
    }

    #[test]
    fn names_of_two_tenants_never_meet() {
        let of = |name: &str| Tenant(name.into());
        assert_ne!(of("a").scoped("b.c"), of("a.b").scoped("c"));
        assert_eq!(of("a").scoped(""), "");
        assert_ne!(of("a").key("", "k"), of("a").key("b", "k"));
        assert_eq!(of("a").key("b", ""), "");
    }
}
