//! The smallest guest that tells a KVM which works from one which only opens: it turns SSE on, executes an SSE
//! instruction, counts down from 20 million, and leaves with success.
//!
//! On some hosts KVM starts guests but emulates their instructions one by one, at 2 million a second, and dies at the
//! first SSE one; the count then takes ten seconds, natively some milliseconds.

/// Where the image is loaded and entered.
const LOAD_ADDRESS: u32 = 0x10_0000;
const HEADER_BYTES: u32 = 32;

/// 32-bit protected mode, paging off, as the Multiboot specification (0.6.96, section 3.2) enters a kernel.
const CODE: &[u8] = &[
    0x0f, 0x20, 0xe0, // mov eax, cr4
    0x0d, 0x00, 0x06, 0x00, 0x00, // or eax, OSFXSR | OSXMMEXCPT
    0x0f, 0x22, 0xe0, // mov cr4, eax
    0x0f, 0x20, 0xc0, // mov eax, cr0
    0x83, 0xe0, 0xfb, // and eax, !EM
    0x83, 0xc8, 0x02, // or eax, MP
    0x0f, 0x22, 0xc0, // mov cr0, eax
    0x0f, 0x57, 0xc0, // xorps xmm0, xmm0
    0x0f, 0x58, 0xc0, // addps xmm0, xmm0
    0xb9, 0x00, 0x2d, 0x31, 0x01, // mov ecx, 20_000_000
    0x49, // dec ecx
    0x75, 0xfd, // jnz back by one
    0xb0, 0x10, // mov al, success
    0xe6, 0xf4, // out 0xf4, al
    0xf4, // hlt
];

/// A Multiboot image without ELF around it.
pub fn image() -> Vec<u8> {
    const MAGIC: u32 = 0x1bad_b002;
    const ADDRESSES_ARE_GIVEN: u32 = 1 << 16;
    let end = LOAD_ADDRESS + HEADER_BYTES + CODE.len() as u32;
    let header = [
        MAGIC,
        ADDRESSES_ARE_GIVEN,
        0_u32.wrapping_sub(MAGIC.wrapping_add(ADDRESSES_ARE_GIVEN)),
        LOAD_ADDRESS, // of this header
        LOAD_ADDRESS, // of the image
        end,
        end,
        LOAD_ADDRESS + HEADER_BYTES, // entry
    ];
    header
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .chain(CODE.iter().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_what_the_comments_say() {
        use iced_x86::{Decoder, DecoderOptions, Mnemonic};
        let wanted = [
            Mnemonic::Mov,
            Mnemonic::Or,
            Mnemonic::Mov,
            Mnemonic::Mov,
            Mnemonic::And,
            Mnemonic::Or,
            Mnemonic::Mov,
            Mnemonic::Xorps,
            Mnemonic::Addps,
            Mnemonic::Mov,
            Mnemonic::Dec,
            Mnemonic::Jne,
            Mnemonic::Mov,
            Mnemonic::Out,
            Mnemonic::Hlt,
        ];
        let decoded: Vec<_> = Decoder::new(32, CODE, DecoderOptions::NONE)
            .iter()
            .map(|i| i.mnemonic())
            .collect();
        assert_eq!(decoded, wanted);
    }

    #[test]
    fn the_header_adds_up() {
        let image = image();
        let word = |i: usize| u32::from_le_bytes(image[i * 4..i * 4 + 4].try_into().unwrap());
        assert_eq!(word(0).wrapping_add(word(1)).wrapping_add(word(2)), 0);
        assert_eq!(word(5) - word(4), image.len() as u32);
    }
}
