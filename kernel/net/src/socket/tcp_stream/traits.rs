//! What other crates know a connection by: `embedded-io`, `Debug`.

use super::TcpStream;
use crate::socket::{Error, Result};
use core::fmt;

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conn = self.conn();
        write!(f, "TcpStream({} to {})", conn.local(), conn.remote())
    }
}

impl embedded_io::ErrorType for TcpStream {
    type Error = Error;
}

impl embedded_io::ErrorType for &TcpStream {
    type Error = Error;
}

impl embedded_io::Read for &TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.receive(buffer, false)
    }
}

impl embedded_io::Read for TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.receive(buffer, false)
    }
}

impl embedded_io::Write for &TcpStream {
    fn write(&mut self, data: &[u8]) -> Result<usize> {
        self.send(data)
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl embedded_io::Write for TcpStream {
    fn write(&mut self, data: &[u8]) -> Result<usize> {
        self.send(data)
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
