//! What a server says, and whether it is believed.

use super::{Answer, DnsError, name};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use smoltcp::wire::{
    DnsFlags, DnsOpcode, DnsPacket, DnsQueryType, DnsQuestion, DnsRcode, DnsRecord, DnsRecordData,
};

/// Other names on the way to the address.
const ALIASES: usize = 8;
/// Addresses that are kept.
const ADDRESSES: usize = 16;
/// Records that are looked at: more do not fit into a datagram that anybody sends.
const RECORDS: usize = 128;
/// That there is nothing is believed for so long.
const NOTHING_S: u32 = 10;

/// An answer, and for how many seconds it holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub answer: Answer,
    pub seconds: u32,
}

/// The answer to the question for `name` under `id`. None: this is something else.
pub(super) fn read(bytes: &[u8], id: u16, name: &[u8]) -> Option<Read> {
    let packet = DnsPacket::new_checked(bytes).ok()?;
    let response = packet.flags().contains(DnsFlags::RESPONSE);
    let ours = packet.transaction_id() == id && packet.opcode() == DnsOpcode::Query;
    if !response || !ours || packet.question_count() != 1 {
        return None;
    }
    let (records, question) = DnsQuestion::parse(packet.payload()).ok()?;
    let asked = question.type_ == DnsQueryType::A;
    if !asked || name::from_message(&packet, question.name)? != name {
        return None;
    }
    let fail = |error, seconds| Read {
        answer: Err(error),
        seconds,
    };
    if packet.flags().contains(DnsFlags::TRUNCATED) {
        return Some(fail(DnsError::Truncated, 0));
    }
    Some(match packet.rcode() {
        DnsRcode::NXDomain => fail(DnsError::NotFound, NOTHING_S),
        // What it says beside is broken: as good as no answer.
        DnsRcode::NoError => {
            found(&packet, records, name).unwrap_or(fail(DnsError::ServerFailed, 0))
        }
        _ => fail(DnsError::ServerFailed, 0),
    })
}

/// A record that leads on.
enum Leads {
    To(Ipv4Addr),
    /// Another name for the same.
    Alias(Vec<u8>),
}

fn found(packet: &DnsPacket<&[u8]>, records: &[u8], name: &[u8]) -> Option<Read> {
    let all = leads(packet, records)?;
    let mut name = name;
    let mut seconds = u32::MAX;
    for _ in 0..=ALIASES {
        let here = all.iter().filter(|lead| lead.0 == name);
        let mut addresses = Vec::new();
        let mut alias = None;
        for (_, ttl, lead) in here {
            seconds = seconds.min(*ttl);
            match lead {
                Leads::To(ip) if addresses.len() < ADDRESSES => addresses.push(*ip),
                Leads::To(_) => (),
                Leads::Alias(to) => alias = Some(to),
            }
        }
        if !addresses.is_empty() {
            let answer = Ok(addresses);
            return Some(Read { answer, seconds });
        }
        let Some(next) = alias else {
            let answer = Err(DnsError::NoAddress);
            let seconds = NOTHING_S;
            return Some(Read { answer, seconds });
        };
        name = next
    }
    None
}

/// The records of the answer that lead somewhere: owner, seconds, where to. None: one is broken.
fn leads(packet: &DnsPacket<&[u8]>, mut records: &[u8]) -> Option<Vec<(Vec<u8>, u32, Leads)>> {
    let mut leads = Vec::new();
    for _ in 0..usize::from(packet.answer_record_count()).min(RECORDS) {
        let (rest, record) = DnsRecord::parse(records).ok()?;
        records = rest;
        let lead = match record.data {
            DnsRecordData::A(ip) => Leads::To(ip),
            DnsRecordData::Cname(to) => Leads::Alias(name::from_message(packet, to)?),
            DnsRecordData::Other(..) => continue,
        };
        let owner = name::from_message(packet, record.name)?;
        // More than that is a mistake, and means none (RFC 2181, 8).
        let ttl = if record.ttl > i32::MAX as u32 {
            0
        } else {
            record.ttl
        };
        leads.push((owner, ttl, lead))
    }
    Some(leads)
}
