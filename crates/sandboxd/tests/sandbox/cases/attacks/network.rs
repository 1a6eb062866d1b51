//! Ways out of the box's loopback. When its network namespace is off, nothing beyond the machine is tried.

use crate::cases::Defence::{By, Layers};
use crate::cases::Program::{Call, Py};
use crate::cases::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "a service of the machine",
        By("network-namespace"),
        Py("import socket\nprint(attempt(socket.create_connection, ('127.0.0.1', @TCP4@), 2))"),
        "ECONNREFUSED",
    ),
    case(
        "a service of the machine by IPv6",
        By("network-namespace"),
        Py("import socket\ns = socket.socket(10); s.settimeout(2)\nprint(attempt(s.connect, ('::1', @TCP6@)))"),
        "ECONNREFUSED",
    ),
    case(
        "a service of the machine by an IPv4 address in IPv6",
        By("network-namespace"),
        Py(
            "import socket\ns = socket.socket(10); s.settimeout(2)\nprint(attempt(s.connect, ('::ffff:127.0.0.1', @TCP4@)))",
        ),
        "ECONNREFUSED",
    ),
    case(
        "a service of the machine by UDP",
        By("network-namespace"),
        Py(r#"
import socket
s = socket.socket(2, 2); s.settimeout(2); s.connect(('127.0.0.1', @UDP@)); s.send(b'ping')
print(attempt(s.recv, 9))"#),
        "ECONNREFUSED",
    ),
    case(
        "an abstract socket of the machine",
        By("network-namespace"),
        Py("import socket\nprint(attempt(socket.socket(1).connect, '\\0@ABSTRACT@'))"),
        "ECONNREFUSED",
    ),
    case(
        "a socket file of the machine",
        Layers("the root view"),
        Py("import socket\nprint(attempt(socket.socket(1).connect, '@SOCKET@'))"),
        "ENOENT",
    ),
    case(
        "interfaces",
        By("network-namespace"),
        Py("import socket\nprint([n for _, n in socket.if_nameindex() if n != 'lo'])"),
        "[]",
    ),
    case(
        "connections of others",
        By("network-namespace"),
        Call("len(open('/proc/net/tcp').readlines()), len(open('/proc/net/tcp6').readlines())"),
        "1 1",
    ),
    case(
        "socket files of others",
        By("network-namespace"),
        Call("'@SOCKET@' in open('/proc/net/unix').read()"),
        "False",
    ),
    case(
        "loopback shut down",
        By("privileges"),
        Py(
            "import fcntl, socket, struct\nprint(attempt(fcntl.ioctl, socket.socket(2, 2), 0x8914, struct.pack('16sh14x', b'lo', 0)))",
        ),
        "EPERM",
    ),
    case(
        "another address",
        By("privileges"),
        Py(
            "import fcntl, socket, struct\nprint(attempt(fcntl.ioctl, socket.socket(2, 2), 0x8916, struct.pack('16sHH4s8x', b'lo', 2, 0, bytes([10, 0, 0, 9]))))",
        ),
        "EPERM",
    ),
    case(
        "a port of the system",
        By("privileges"),
        Py("import socket\nprint(attempt(socket.socket().bind, ('127.0.0.1', 80)))"),
        "EACCES",
    ),
    case(
        "out by TCP",
        Layers("network namespace without a route"),
        Py(r#"
import socket
def go(family, address):
    s = socket.socket(family); s.settimeout(2); s.connect(address)
print(*[attempt(go, 2, (a, 80)) for a in ('1.1.1.1', '169.254.169.254', '10.0.0.1', '192.168.0.1')], attempt(go, 10, ('2606:4700::1', 53)))"#),
        "ENETUNREACH ENETUNREACH ENETUNREACH ENETUNREACH ENETUNREACH",
    ),
    case(
        "out by UDP",
        Layers("network namespace without a route"),
        Py("import socket\nprint(attempt(socket.socket(2, 2).sendto, b'x', ('8.8.8.8', 53)))"),
        "ENETUNREACH",
    ),
    case(
        "out to everybody",
        Layers("network namespace without a route"),
        Py(
            "import socket\ns = socket.socket(2, 2); s.setsockopt(1, 6, 1)\nprint(attempt(s.sendto, b'x', ('255.255.255.255', 67)))",
        ),
        "ENETUNREACH",
    ),
    case(
        "names",
        Layers("network namespace without a route"),
        Py("import socket\ntry: socket.gethostbyname('example.com'); print('found')\nexcept OSError: print('unknown')"),
        "unknown",
    ),
];
