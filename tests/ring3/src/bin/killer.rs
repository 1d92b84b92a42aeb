//! `killer PLACE`: ends copies of `stuck PLACE`, settled or just begun, once or twice, and several threads wait for each.
#![no_std]
#![no_main]
use rt::prelude::*;
use rt::process::Command;
rt::main!(main);

/// How long they have lived by then, in microseconds.
const AGES: [u64; 3] = [0, 300, 4000];

fn main() -> rt::Result<()> {
    let place = args().next().unwrap_or_default();
    for age in AGES {
        let child = Arc::new(Command::new("stuck").arg(&place).spawn()?);
        let waiters = [(); 3].map(|()| {
            let child = child.clone();
            spawn(move || child.wait())
        });
        sleep(Duration::from_micros(age));
        child.kill()?;
        child.kill()?;
        for waiter in waiters {
            assert_eq!(waiter.join()?.to_string(), "killed");
        }
        child.kill()?;
        assert_eq!(child.wait()?.to_string(), "killed");
    }
    Ok(())
}
