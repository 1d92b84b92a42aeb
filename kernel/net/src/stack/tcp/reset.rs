//! RST for segments that are nobody's (RFC 9293, 3.5.2 and 3.10.7.1).

use super::segment::{Segment, bare};
use crate::stack::{Counter, Net};
use smoltcp::wire::TcpControl;

impl<U> Net<'_, U> {
    /// There is no connection, and nobody listens, or it is no question to who does.
    pub(super) fn nobodys_segment(&mut self, segment: &Segment<'_>) {
        self.stack.stats.count(Counter::TcpNobody);
        self.refuse(segment)
    }

    /// Says RST such that the other side believes it. An RST is not answered.
    pub(super) fn refuse(&mut self, segment: &Segment<'_>) {
        if segment.is(TcpControl::Rst) {
            return;
        }
        let tuple = &segment.tuple;
        let mut repr = match segment.ack() {
            Some(ack) => bare(tuple, ack, None, 0),
            None => bare(tuple, 0, Some(segment.end()), 0),
        };
        repr.control = TcpControl::Rst;
        self.stack.stats.count(Counter::TcpResetOut);
        self.say(tuple, &repr)
    }
}
