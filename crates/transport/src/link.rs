//! One connection to one node. It never reconnects: a failure is seen by whoever uses it, who knows where to resume.

use std::time::Duration;

use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};

use crate::server::{FRAME_BYTES, STREAM_WINDOW_BYTES};
use crate::{Address, Times};

/// Connects; what went wrong otherwise, in words.
pub(crate) async fn connect(address: &Address, times: &Times) -> Result<Channel, String> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))
        .map_err(|error| error.to_string())?
        .tcp_nodelay(true)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(STREAM_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES)
        .http2_keep_alive_interval(ping_interval(times))
        .keep_alive_timeout(times.stall)
        .keep_alive_while_idle(true);
    match timeout(times.connect, endpoint.connect()).await {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(error)) => Err(with_sources(&error)),
        Err(_) => Err(format!("no connection within {} ms", times.connect.as_millis())),
    }
}

/// A peer that hangs is told from one that waits by its answers to pings.
pub(crate) fn ping_interval(times: &Times) -> Duration {
    times.stall / 2
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
