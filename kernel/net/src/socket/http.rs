//! HTTP over sockets: what `http` asks of a stream and of a listener.

use super::{Error, ErrorKind, Shutdown, TcpListener, TcpStream};
use crate::http::{Accept, Side, Stream};
use core::net::SocketAddr;
use csp::time::{Duration, Instant, sleep};

/// After an error that may pass the next connection is waited for this long (Go: net/http, `Server.Serve`).
const PAUSE: Duration = Duration::from_millis(5);

impl Stream for TcpStream {
    fn deadline(&mut self, side: Side, within: Option<Duration>) {
        let when = within.map(|within| Instant::now() + within);
        match side {
            Side::Read => self.set_read_deadline(when),
            Side::Write => self.set_write_deadline(when),
        }
    }

    fn close_write(&mut self) {
        // What it fails with is what ended the connection before.
        let _ = self.shutdown(Shutdown::Write);
    }
}

impl Accept for &TcpListener {
    type Stream = TcpStream;
    type Error = Error;

    fn accept(&mut self) -> Result<Option<(TcpStream, SocketAddr)>, Error> {
        loop {
            match TcpListener::accept(self) {
                Ok(connection) => return Ok(Some(connection)),
                Err(error) => match error.kind() {
                    ErrorKind::NotConnected => return Ok(None),
                    ErrorKind::TimedOut | ErrorKind::WouldBlock => return Err(error),
                    _ => sleep(PAUSE),
                },
            }
        }
    }
}
