//! Which addresses a name may lead to: those of the internet, never those near the machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Networks that are not the internet, as address and prefix length (IANA's special-purpose registries), and one address
/// that no registry has.
const PRIVATE_V4: [([u8; 4], u32); 17] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    // Clouds answer here with credentials of their machines.
    ([169, 254, 0, 0], 16),
    // Azure answers here with the settings and certificates of its machines.
    ([168, 63, 129, 16], 32),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 52, 193, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    // Multicast and all later networks.
    ([224, 0, 0, 0], 3),
];
/// Only addresses in this network are assigned to the internet, except for these parts of it.
const GLOBAL_V6: (u128, u32) = (0x2000 << 112, 3);
const PRIVATE_V6: [(u128, u32); 4] = [
    // Protocol assignments, which include Teredo and ORCHID.
    (0x2001 << 112, 23),
    (0x2001_0db8 << 96, 32),
    // 6to4 carries any IPv4 address.
    (0x2002 << 112, 16),
    (0x3fff << 112, 20),
];
/// NAT64: an IPv4 address in the last 32 bits.
const NAT64: (u128, u32) = (0x0064_ff9b << 96, 96);

/// The IPv4 address, when it is written as an IPv6 address.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) if inside(v6.to_bits(), NAT64) => {
            let [.., a, b, c, d] = v6.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        other => other.to_canonical(),
    }
}

/// Whether an address belongs to the internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match canonical(address) {
        IpAddr::V4(v4) => !PRIVATE_V4.iter().any(|(network, prefix)| {
            let mask = u32::MAX << (32 - prefix);
            v4.to_bits() & mask == u32::from_be_bytes(*network)
        }),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            inside(bits, GLOBAL_V6) && !PRIVATE_V6.iter().any(|network| inside(bits, *network))
        }
    }
}

fn inside(bits: u128, (network, prefix): (u128, u32)) -> bool {
    bits & (u128::MAX << (128 - prefix)) == network
}

/// Whether an address belongs to this machine: the kernel would use it as the source. Sends nothing.
pub(crate) fn is_own(address: IpAddr) -> bool {
    let any = if address.is_ipv4() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    let source = UdpSocket::bind(SocketAddr::new(any, 0)).and_then(|socket| {
        socket.connect(SocketAddr::new(address, 9))?;
        socket.local_addr()
    });
    // Without a route the address cannot be reached.
    source.is_ok_and(|source| source.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn neighbours_are_not_the_internet() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.53",
            "169.254.169.254",
            "168.63.129.16",
            "172.31.255.255",
            "192.168.0.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "fe80::1",
            "fd00:ec2::254",
            "fec0::1",
            "ff02::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(address(private)), "{private}");
        }
        for public in [
            "1.1.1.1",
            "168.63.129.17",
            "172.32.0.1",
            "100.128.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(is_public(address(public)), "{public}");
        }
    }

    #[test]
    fn the_machine_knows_itself() {
        assert!(is_own(address("127.0.0.1")));
        assert!(!is_own(address("203.0.113.7")));
    }
}
