//! Mistakes that Go's tests try out, and that cannot be written here: none of these compiles.

/// Go: MutexMisuse: only a guard unlocks, once.
/// ```compile_fail,E0599
/// csp::sync::Mutex::new(()).unlock();
/// ```
/// ```compile_fail,E0599
/// csp::sync::RwLock::new(()).read_unlock();
/// ```
/// ```compile_fail,E0382
/// let mutex = csp::sync::Mutex::new(());
/// let held = mutex.lock();
/// drop(held);
/// drop(held);
/// ```
struct MutexMisuse;

/// Go: CondCopy, WaitGroup and Mutex by value: a lock that was moved is not used at its old place, and none is copied.
/// ```compile_fail,E0382
/// let cond = csp::sync::Cond::new();
/// let copy = cond;
/// cond.notify_one();
/// copy.notify_one();
/// ```
/// ```compile_fail,E0599
/// csp::sync::Mutex::new(1).clone();
/// ```
struct CondCopy;

/// Go: chan/perm, chan/sendstmt: a side of a channel does what it is for.
/// ```compile_fail,E0599
/// let (_tx, rx) = csp::chan::<u32>(1);
/// rx.send(1);
/// ```
/// ```compile_fail,E0599
/// let (tx, _rx) = csp::chan::<u32>(1);
/// tx.recv();
/// ```
/// ```compile_fail
/// let (tx, _rx) = csp::chan::<u32>(1);
/// csp::select! { recv(tx) -> _v => {} }
/// ```
struct Directions;

/// Go: ManualTicker, an uninitialised Timer: they are made by their constructors.
/// ```compile_fail,E0451
/// let (_tx, rx) = csp::chan(1);
/// let ticker = csp::time::Ticker { rx, ..csp::time::Ticker::new(csp::time::Duration::MAX) };
/// ```
/// ```compile_fail,E0277
/// let _ = csp::time::Timer::default();
/// ```
struct MadeByHand;

/// Go: GoNil: there is no function that is nil.
/// ```compile_fail,E0277
/// csp::go(None::<fn()>);
/// ```
struct GoNil;
