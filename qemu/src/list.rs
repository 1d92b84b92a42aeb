//! x
use crate::Result;
/// x
pub fn list() -> Result<u8> {
    Ok(0)
}
