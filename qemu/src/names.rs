//! Names for addresses in what a machine says: the kernel's, and those of the ring-3 programs that its boot module has.

use std::path::PathBuf;
use std::sync::Arc;

use crate::backtrace::Frame;
use crate::symbols::Symbols;

/// Where they come from.
pub struct Names {
    kernel: Arc<Symbols>,
    /// Name and ELF; each is read when something is asked about it.
    programs: Vec<(String, PathBuf)>,
}

impl Names {
    /// Those of `kernel` and of these ring-3 programs.
    pub fn new(kernel: Arc<Symbols>, programs: &[(String, PathBuf)]) -> Names {
        Names {
            kernel,
            programs: programs.to_vec(),
        }
    }

    /// What is appended to a line about `frame`. `None`: nothing is known of the program.
    pub fn describe(&self, frame: Frame<'_>) -> Option<String> {
        match frame {
            Frame::Kernel { address, is_return } => Some(self.kernel.describe(address, is_return)),
            Frame::User { program, address } => {
                let (_, elf) = self.programs.iter().find(|(name, _)| name == program)?;
                let symbols = Symbols::shared(elf, self.kernel.root()).ok()?;
                Some(symbols.at(address))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn of_the_kernel_and_of_programs() {
        let (root, me) = (Root::find().unwrap(), std::env::current_exe().unwrap());
        let symbols = Symbols::shared(&me, root.path()).unwrap();
        let names = Names::new(symbols.clone(), &[("hello".to_string(), me)]);
        // The first instruction of the process; the kernel's is taken for one behind a call.
        let address = symbols.address_of("_start").unwrap();
        let of = |program| names.describe(Frame::User { program, address });
        assert_eq!(of("hello").as_deref(), Some(" in _start"));
        assert_eq!(of("other"), None);
        let (address, is_return) = (address + 1, false);
        let kernel = names.describe(Frame::Kernel { address, is_return });
        assert_eq!(kernel.as_deref(), Some(" in _start"));
    }
}
