//! The values of the keys that take one of a few words.

use core::fmt;

/// Defines an enum together with the words that name its variants.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// The words of the command line, in the order of the contract.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The variant that `word` names.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }

            /// The word that names this variant.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

choice! {
    /// Whether a running G is made to give way (`preempt=`).
    Preempt {
        /// At any instruction, by an injected call.
        Async = "async",
        /// Only where the G calls the scheduler or `checkpoint()`.
        Coop = "coop",
        /// Never.
        Off = "off",
    }
}

choice! {
    /// How much a thief takes from its victim's run queue (`steal=`).
    Steal {
        /// Half of it, as Go does.
        Half = "half",
        /// One G.
        One = "one",
        /// Nothing: work stays where it was born.
        Off = "off",
    }
}

choice! {
    /// Where runnable Gs wait (`queue=`).
    Queue {
        /// In a ring per P, with the global queue beside it.
        Local = "local",
        /// In the one global queue under its lock, as before Go 1.1.
        Global = "global",
    }
}

choice! {
    /// How a G waits for the network (`netpoll=`).
    Netpoll {
        /// It parks; the netpoller readies it.
        Park = "park",
        /// It blocks its M.
        Block = "block",
        /// It asks again and again, yielding between.
        Poll = "poll",
    }
}

choice! {
    /// Who decides where a G goes (`policy=`).
    Policy {
        /// Go's rules.
        Go = "go",
        /// First come, first served, without `runnext`.
        Fifo = "fifo",
        /// Last come, first served.
        Lifo = "lifo",
    }
}

choice! {
    /// Which clock timers follow (`clock=`).
    Clock {
        /// The machine's.
        Real = "real",
        /// One that jumps to the next timer when nothing can run.
        Virtual = "virtual",
    }
}

choice! {
    /// What the kernel's log lets through (`log=`).
    LogLevel {
        /// Nothing.
        Off = "off",
        /// Failures.
        Error = "error",
        /// And what looks wrong.
        Warn = "warn",
        /// And what happens once: start-up, devices.
        Info = "info",
        /// And decisions.
        Debug = "debug",
        /// And every event.
        Trace = "trace",
    }
}
