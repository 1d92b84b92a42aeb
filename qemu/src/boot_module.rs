//! What the runner hands to the kernel: a tar archive as the boot module.

use std::fs;

use crate::failure::Doing;
use crate::{Machine, Result, user_elf};

/// A ustar archive with the files `cmdline`, `args`, those of the machine, and its ring-3 programs.
///
/// # Errors
///
/// A file's name does not fit into a tar header, or a program cannot be read.
pub fn pack(machine: &Machine) -> Result<Vec<u8>> {
    let cmdline = machine.command_line().into_bytes();
    let args: Vec<u8> = machine
        .args
        .iter()
        .flat_map(|arg| arg.bytes().chain([0]))
        .collect();
    let mut files = vec![("cmdline".to_string(), cmdline), ("args".to_string(), args)];
    files.extend(machine.files.iter().cloned());
    for (name, path) in &machine.user_programs {
        let elf = fs::read(path).doing(format_args!("read {}", path.display()))?;
        let packed = user_elf::loaded_part(elf).doing(format_args!("pack {name}"))?;
        files.push((format!("bin/{name}"), packed));
    }
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in &files {
        let mut header = tar::Header::new_ustar();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        archive
            .append_data(&mut header, name, content.as_slice())
            .doing(format_args!("pack {name}"))?;
    }
    archive.into_inner().doing("pack the boot module")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn files_of_the_module() {
        let mut machine = Machine::new("x".into(), "hello");
        machine.args = vec!["one".into(), String::new(), "zwei ü".into()];
        machine.files = vec![("etc/motd".into(), b"hi".to_vec())];
        let bytes = pack(&machine).unwrap();
        assert_eq!(&bytes[257..262], b"ustar");
        let files: Vec<(String, Vec<u8>)> = tar::Archive::new(bytes.as_slice())
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut content = Vec::new();
                entry.read_to_end(&mut content).unwrap();
                (entry.path().unwrap().to_str().unwrap().to_string(), content)
            })
            .collect();
        assert_eq!(files[0], ("cmdline".into(), b"program=hello".to_vec()));
        assert_eq!(files[1], ("args".into(), "one\0\0zwei ü\0".into()));
        assert_eq!(files[2], ("etc/motd".into(), b"hi".to_vec()));
    }
}
