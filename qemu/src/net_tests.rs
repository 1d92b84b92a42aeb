//! Tests of the network's arguments.

use super::*;
use std::os::unix::net::UnixListener;

fn no_symbols() -> std::sync::Arc<Symbols> {
    let own = std::env::current_exe().unwrap();
    Symbols::shared(&own, Path::new("/")).unwrap()
}

fn machine(net: Net) -> Machine {
    Machine {
        net,
        ..Machine::new("k".into(), "hello")
    }
}

fn line(machine: &Machine) -> String {
    let wired = Wired::new(machine, &no_symbols()).unwrap();
    wired.arguments().join(" ")
}

fn refusal(machine: &Machine) -> String {
    Wired::new(machine, &no_symbols()).err().unwrap().line
}

#[test]
fn words() {
    assert_eq!(Net::parse("user").unwrap(), Net::User);
    assert_eq!(Net::parse("none").unwrap(), Net::None);
    let stream = Net::parse("stream:/a:b").unwrap();
    assert_eq!(stream, Net::Stream("/a:b".into()));
    assert_eq!(Net::parse("tap:t0").unwrap(), Net::Tap("t0".into()));
    for bad in ["", "tap", "tap:", "stream:", "usr", "user:1", "bridge:x"] {
        let line = Net::parse(bad).unwrap_err().line;
        assert!(
            line.contains("user, stream:PATH") && line.contains("tap:IF"),
            "{line}"
        );
    }
    for net in ["user", "none", "stream:/a", "tap:t0"] {
        assert_eq!(Net::parse(net).unwrap().name(), net);
    }
}

#[test]
fn who_has_none() {
    assert_eq!(line(&machine(Net::None)), "");
    // This program has no driver.
    assert_eq!(line(&machine(Net::IfUsed)), "");
    let mut asks = machine(Net::IfUsed);
    asks.capture = Some("x".into());
    assert!(refusal(&asks).starts_with("--capture: hello has no network"));
    asks.forwards = vec![Forward::parse("8080:80").unwrap()];
    assert!(refusal(&asks).starts_with("--forward: hello has no network"));
}

#[test]
fn user() {
    let mut machine = machine(Net::User);
    let card = "-device virtio-net-pci,netdev=net,disable-legacy=on,romfile=";
    assert_eq!(line(&machine), format!("-netdev user,id=net {card}"));
    let file = std::env::temp_dir().join(format!("ringo-capture,{}", std::process::id()));
    machine.capture = Some(file.clone());
    let text = line(&machine);
    let spelled = file.display().to_string().replace(',', ",,");
    assert!(text.ends_with(&format!(
        "-object filter-dump,id=capture,netdev=net,file={spelled}"
    )));
    fs::remove_file(&file).unwrap();
    machine.capture = Some("/no/such/folder/x".into());
    assert!(refusal(&machine).starts_with("--capture /no/such/folder/x: No such file"));
}

#[test]
fn stream() {
    let path = std::env::temp_dir().join(format!("ringo-net-{}", std::process::id()));
    let absent = refusal(&machine(Net::Stream(path.clone())));
    assert!(absent.contains("No such file") && absent.contains("has to listen"));
    let listener = UnixListener::bind(&path).unwrap();
    let machine = machine(Net::Stream(path.clone()));
    let wired = Wired::new(&machine, &no_symbols()).unwrap();
    let fd = wired.descriptors().next().unwrap();
    let text = wired.arguments().join(" ");
    assert!(text.starts_with(&format!(
        "-netdev stream,id=net,addr.type=fd,addr.str={fd} "
    )));
    assert!(text.contains(",mac=52:54:00:"), "{text}");
    drop(listener);
    assert!(refusal(&machine).contains("refused"));
    fs::remove_file(&path).unwrap();
}

#[test]
fn tap() {
    for (name, what) in [
        ("no/name", "up to 15 characters"),
        ("much-longer-than-15", "up to 15 characters"),
        ("ringo-absent", "ip tuntap add dev ringo-absent mode tap"),
    ] {
        let line = refusal(&machine(Net::Tap(name.into())));
        assert!(line.contains(what), "{line}");
    }
    assert_eq!(parse_hex("0x1102\n"), Some(0x1102));
    assert_eq!((queues(None, 4), queues(Some(0x1002), 4)), (1, 1));
    let several = Some(0x1102);
    assert_eq!([1, 4, 64].map(|smp| queues(several, smp)), [2, 4, 8]);
    let net = Net::Tap("t0".into());
    let text = backend(&net, &machine(net.clone()), None, 4);
    assert_eq!(
        text,
        "tap,id=net,ifname=t0,script=no,downscript=no,queues=4"
    );
    assert!(card(&net, 4).contains(",mq=on,vectors=10,mac=52:54:00:"));
}

#[test]
fn kinds_of_interfaces() {
    let shown = |rest: &str| kind(&format!("2: t0: <UP> link/ether 1 promiscuity 0 {rest}"));
    let tap = "tun type tap pi off vnet_hdr off";
    assert_eq!(shown(tap), Some(Ok(IFF_TAP)));
    let several = shown(&format!("{tap} multi_queue numqueues 0"));
    assert_eq!(several, Some(Ok(IFF_TAP | IFF_MULTI_QUEUE)));
    assert!(matches!(shown("tun type tun pi off"), Some(Err(_))));
    assert!(matches!(shown("veth"), Some(Err(_))));
    // Another kind of `ip`, or none of this name.
    assert_eq!((kind("2: t0: <UP>"), kind("")), (None, None));
}

#[test]
fn addresses_differ() {
    let all: std::collections::BTreeSet<String> = (0..50).map(|_| address()).collect();
    assert!(all.len() > 45, "{all:?}");
}
