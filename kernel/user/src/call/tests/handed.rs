//! What several processes have handles to.

use super::*;

#[test]
fn an_end_is_open_while_any_process_has_it() {
    run(|| {
        let (p, q) = (Process::new(), Process::new());
        p.call(|ctx| pipe(ctx, BASE)).unwrap();
        let [from, to] = p.memory.handles(BASE);
        let theirs = p.hand(to, &q);
        p.call(|ctx| close(ctx, to)).unwrap();
        let reader = p.thread(move |ctx| [read(ctx, from, BASE, 9), read(ctx, from, BASE, 9)]);
        a_while();
        assert_eq!(q.call(|ctx| write(ctx, theirs, BASE, 4)), Ok(4));
        a_while();
        q.end(); // the last one that can write
        assert_eq!(reader.join(), [Ok(4), Ok(0)]);
    })
}

#[test]
fn closing_is_of_one_process() {
    run(|| {
        let (p, q) = (Process::new(), Process::new());
        p.call(|ctx| pipe(ctx, BASE)).unwrap();
        let [from, to] = p.memory.handles(BASE);
        let theirs = p.hand(from, &q);
        let mine = p.thread(move |ctx| read(ctx, from, BASE, 9));
        let others = q.thread(move |ctx| read(ctx, theirs, BASE, 9));
        a_while();
        p.call(|ctx| close(ctx, from)).unwrap();
        assert_eq!(mine.join(), Err(Error::BadHandle));
        p.call(|ctx| write(ctx, to, BASE, 5)).unwrap();
        assert_eq!(others.join(), Ok(5));
    })
}

/// Ended processes share what others wait for: none of those misses anything.
#[test]
fn ended_processes_leave_the_others_what_is_theirs() {
    run(|| {
        for capacity in [0, 2] {
            let p = Process::new();
            p.call(|ctx| chan(ctx, capacity, BASE)).unwrap();
            let [to, from] = p.memory.handles(BASE);
            for round in 0..100 {
                let q = Process::new();
                let theirs = p.hand(from, &q);
                let ended = q.thread(move |ctx| recv(ctx, theirs, BASE, 8));
                let receiver = p.thread(move |ctx| recv(ctx, from, BASE, 8));
                if round % 3 == 0 {
                    a_while()
                }
                let sender = p.thread(move |ctx| send(ctx, to, BASE, 8));
                q.end();
                // Either has it.
                match ended.join() {
                    Ok(8) => {
                        p.call(|ctx| send(ctx, to, BASE, 8)).unwrap();
                    }
                    // The second: it came when all handles were gone.
                    other => assert!(matches!(other, Err(Error::Killed | Error::BadHandle))),
                }
                assert_eq!(receiver.join(), Ok(8));
                assert_eq!(sender.join(), Ok(0));
            }
        }
    })
}
