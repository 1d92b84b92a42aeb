//! The macro `select!`; what it expands to is run by `chan/select.rs`.

/// Waits until one of several channel operations can go on, performs that one, and runs its arm (Go: `select`).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{chan, go, never, select};
/// let (tx, rx) = chan::<u32>(0);
/// let (out, _full) = chan::<u32>(0);
/// go(move || tx.send(7).unwrap());
/// let seen = select! {
///     recv(rx) -> v => v,
///     recv(never::<u32>()) -> _v => unreachable!(),
///     send(out, 1) -> r => { r.unwrap(); None }
/// };
/// assert_eq!(seen, Some(7));
/// select! {
///     recv(rx) -> v => assert_eq!(v, None),
///     default => println!("nothing is ready"),
/// }
/// # });
/// ```
///
/// * `recv(rx) -> v`: `v` is what [`Receiver::recv`](crate::Receiver::recv) answers.
/// * `send(tx, value) -> r`: `r` is what [`Sender::send`](crate::Sender::send) answers. The value of an arm that is not
///   chosen is dropped.
/// * `default`: chosen if none of the others can go on at once.
/// * `default(dur)`: chosen if none of the others can go on for `dur` (Go: a case that receives from `time.After(dur)`).
///
/// Operands are evaluated once, in source order, before anything else. Of several that can go on one is chosen at
/// random. A channel that is closed can go on: it answers `None`, or gives the value back in an error (where Go
/// panics). [`never`](crate::never()) never goes on. Without any arm it waits for ever. All arms have the same type.
#[macro_export]
macro_rules! select {
    ($($arms:tt)*) => { $crate::__select!(@read [] [] $($arms)*) };
}

/// Reads the arms one by one into a list, gives each a variable, and puts the code together.
///
/// Each step of `@read` writes the name `case` anew, and names written by different expansions are different variables.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // ---- one arm after the other; a block needs no comma after it ----
    (@read [$($cases:tt)*] [$($default:tt)*] recv($rx:expr) -> $p:pat => $body:block , $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case recv [$rx] $p => $body)] [$($default)*] $($rest)*)
    };
    (@read [$($cases:tt)*] [$($default:tt)*] recv($rx:expr) -> $p:pat => $body:block $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case recv [$rx] $p => $body)] [$($default)*] $($rest)*)
    };
    (@read [$($cases:tt)*] [$($default:tt)*] recv($rx:expr) -> $p:pat => $body:expr , $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case recv [$rx] $p => $body)] [$($default)*] $($rest)*)
    };
    (@read [$($cases:tt)*] [$($default:tt)*] recv($rx:expr) -> $p:pat => $body:expr) => {
        $crate::__select!(@read [$($cases)* (case recv [$rx] $p => $body)] [$($default)*])
    };
    (@read [$($cases:tt)*] [$($default:tt)*] send($tx:expr, $v:expr) -> $p:pat => $body:block , $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case send [$tx, $v] $p => $body)] [$($default)*] $($rest)*)
    };
    (@read [$($cases:tt)*] [$($default:tt)*] send($tx:expr, $v:expr) -> $p:pat => $body:block $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case send [$tx, $v] $p => $body)] [$($default)*] $($rest)*)
    };
    (@read [$($cases:tt)*] [$($default:tt)*] send($tx:expr, $v:expr) -> $p:pat => $body:expr , $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case send [$tx, $v] $p => $body)] [$($default)*] $($rest)*)
    };
    (@read [$($cases:tt)*] [$($default:tt)*] send($tx:expr, $v:expr) -> $p:pat => $body:expr) => {
        $crate::__select!(@read [$($cases)* (case send [$tx, $v] $p => $body)] [$($default)*])
    };
    (@read [$($cases:tt)*] [] default => $body:block , $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)*] [{ $body }] $($rest)*)
    };
    (@read [$($cases:tt)*] [] default => $body:block $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)*] [{ $body }] $($rest)*)
    };
    (@read [$($cases:tt)*] [] default => $body:expr , $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)*] [{ $body }] $($rest)*)
    };
    (@read [$($cases:tt)*] [] default => $body:expr) => {
        $crate::__select!(@read [$($cases)*] [{ $body }])
    };
    (@read [$($cases:tt)*] [] default($d:expr) => $body:block , $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case timeout [$d] () => $body)] [timeout] $($rest)*)
    };
    (@read [$($cases:tt)*] [] default($d:expr) => $body:block $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case timeout [$d] () => $body)] [timeout] $($rest)*)
    };
    (@read [$($cases:tt)*] [] default($d:expr) => $body:expr , $($rest:tt)*) => {
        $crate::__select!(@read [$($cases)* (case timeout [$d] () => $body)] [timeout] $($rest)*)
    };
    (@read [$($cases:tt)*] [] default($d:expr) => $body:expr) => {
        $crate::__select!(@read [$($cases)* (case timeout [$d] () => $body)] [timeout])
    };

    // ---- all arms are read ----
    (@read [] [{ $($default:tt)* }]) => { { $($default)* } };
    (@read [] []) => {{
        $crate::chan::select::run([], true, false);
        ::core::unreachable!()
    }};
    (@read [$(($case:ident $kind:ident [$($on:tt)*] $p:pat => $body:expr))+] [$($default:tt)*]) => {{
        let ($($case,)+) = {
            $($crate::__select!(@open $case $kind $($on)*);)+
            $crate::chan::select::run(
                [$($case.arm()),+],
                $crate::__select!(@waits $($default)*),
                $crate::__select!(@times_out $($default)*),
            );
            ($($case.finish(),)+)
        };
        $(if let ::core::option::Option::Some(answer) = $case {
            let $p = answer;
            $body
        } else)+ {
            $crate::__select!(@otherwise $($default)*)
        }
    }};
    // ---- what is wrong, as exactly as can be said ----
    (@read [$($cases:tt)*] [$($default:tt)+] default $($rest:tt)*) => {
        ::core::compile_error!("select! has room for one `default` only")
    };
    (@read [$($cases:tt)*] [] default($($d:tt)*) -> $($rest:tt)*) => {
        ::core::compile_error!("`default(duration)` gives no value: write `default(duration) => ...`")
    };
    (@read [$($cases:tt)*] [] default -> $($rest:tt)*) => {
        ::core::compile_error!("`default` gives no value: write `default => ...`")
    };
    (@read [$($cases:tt)*] [] default() $($rest:tt)*) => {
        ::core::compile_error!("write `default => ...`, or `default(duration) => ...`")
    };
    (@read [$($cases:tt)*] [$($default:tt)*] recv($($on:tt)*) => $($rest:tt)*) => {
        ::core::compile_error!("what does recv give? Write `recv(rx) -> value => ...`; `value` is an Option, None once the channel is closed")
    };
    (@read [$($cases:tt)*] [$($default:tt)*] send($($on:tt)*) => $($rest:tt)*) => {
        ::core::compile_error!("what does send give? Write `send(tx, value) -> result => ...`; `result` is an error once the channel is closed")
    };
    (@read [$($cases:tt)*] [$($default:tt)*] send($tx:expr $(,)?) -> $($rest:tt)*) => {
        ::core::compile_error!("what is sent? Write `send(tx, value) -> result => ...`")
    };
    (@read [$($cases:tt)*] [$($default:tt)*] recv($rx:expr, $($more:tt)*) -> $($rest:tt)*) => {
        ::core::compile_error!("recv takes the channel alone: write `recv(rx) -> value => ...`")
    };
    (@read [$($cases:tt)*] [$($default:tt)*] $kind:ident($($on:tt)*) -> $p:pat => $body:expr) => {
        ::core::compile_error!(::core::concat!(
            "select! knows no arm `", ::core::stringify!($kind), "`: it takes `recv(rx) -> value => ...`, `send(tx, value) -> result => ...`, `default => ...` and `default(duration) => ...`"
        ))
    };
    (@read [$($cases:tt)*] [$($default:tt)*] $($rest:tt)+) => {
        ::core::compile_error!(
            "select! takes arms `recv(rx) -> value => ...`, `send(tx, value) -> result => ...` and at most one `default => ...` or `default(duration) => ...`, with a comma after each that is not a block"
        )
    };

    // `on` lives as long as the block, temporaries of the operand included.
    (@open $case:ident recv $rx:expr) => {
        let on = &$rx;
        let mut $case = $crate::chan::select::RecvCase::new(on);
    };
    (@open $case:ident send $tx:expr, $v:expr) => {
        let on = &$tx;
        let mut $case = $crate::chan::select::SendCase::new(on, $v);
    };
    (@open $case:ident timeout $d:expr) => {
        let mut $case = $crate::chan::select::TimeoutCase::new($d);
    };
    (@waits) => { true };
    (@waits timeout) => { true };
    (@waits { $default:expr }) => { false };
    (@times_out timeout) => { true };
    (@times_out $($none_or_default:tt)*) => { false };
    (@otherwise) => { ::core::unreachable!() };
    (@otherwise timeout) => { ::core::unreachable!() };
    (@otherwise { $default:expr }) => { $default };
}
