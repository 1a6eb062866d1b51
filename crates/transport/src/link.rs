//! One connection to one node, and the sizes that both of its ends use. It never reconnects: its user gets the failure and knows where to resume.

use std::time::Duration;

use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

use crate::error::Fault;
use crate::{Address, Credentials, Times, TransportError};

/// Window of a stream: several chunks can be in flight.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 4 << 20;
/// Size of a frame: a chunk takes few of them.
pub(crate) const FRAME_BYTES: u32 = 1 << 18;

/// Connects, encrypted when the credentials name an authority.
///
/// # Errors
/// [`Fault::Final`] for credentials that cannot be used, otherwise a description of the failure.
pub(crate) async fn connect(address: &Address, credentials: &Credentials, times: &Times) -> Result<Channel, Fault> {
    let tls = credentials.client_tls(address)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
        .map_err(|error| Fault::Passing(error.to_string()))?
        .tcp_nodelay(true)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(STREAM_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES)
        .http2_keep_alive_interval(ping_interval(times))
        .keep_alive_timeout(times.stall)
        .keep_alive_while_idle(true);
    if let Some(tls) = tls {
        endpoint = endpoint
            .tls_config(tls)
            .map_err(|error| TransportError::Tls(with_sources(&error)))?;
    }
    match timeout(times.connect, endpoint.connect()).await {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(error)) => Err(Fault::Passing(with_sources(&error))),
        Err(_) => Err(Fault::Passing(format!(
            "no connection within {} ms",
            times.connect.as_millis()
        ))),
    }
}

/// How often a peer is pinged. A peer that waits answers pings, a peer that hangs does not.
pub(crate) fn ping_interval(times: &Times) -> Duration {
    times.stall / 2
}

pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
