"""The pause program: what holds a pod's namespaces open while its containers come and go.

A static ELF of a few hundred bytes, written out here: a cluster needs neither a compiler nor an image from afar.
It ignores SIGCHLD, so the kernel reaps whatever is orphaned to it (it is PID 1 of a shared PID namespace), and waits
until SIGTERM or SIGINT, then exits 0.

In C:   block(SIGINT, SIGTERM); signal(SIGCHLD, SIG_IGN); while (sigwaitinfo(&blocked) < 0) {} ; exit(0);
"""

from __future__ import annotations

import struct

_BASE = 0x400000  # where the one segment is mapped
_HEADERS = 64 + 56  # ELF header, then one program header
_SET = _BASE + _HEADERS  # sigset_t: the signals waited for
_ACTION = _SET + 8  # struct kernel_sigaction: handler, flags, restorer, mask
_CODE = _ACTION + 32

_SIGINT, _SIGTERM, _SIGCHLD, _SIG_IGN = 2, 15, 17, 1
_SIGSET_BYTES = 8

# machine: e_machine of the ELF header, and the calls' numbers in that architecture's table
_SYSCALLS_X86_64 = {"sigaction": 13, "sigprocmask": 14, "sigtimedwait": 128, "exit": 60}
_SYSCALLS_AARCH64 = {"sigaction": 134, "sigprocmask": 135, "sigtimedwait": 137, "exit": 93}


class UnknownMachine(Exception):
    """There is no pause program for this processor."""


def program(machine: str) -> bytes:
    """The pause program for a `platform.machine()`."""
    if machine in ("x86_64", "amd64"):
        return _elf(62, _x86_64())
    if machine in ("aarch64", "arm64"):
        return _elf(183, _aarch64())
    raise UnknownMachine(f"no pause program for {machine}: it is written for x86_64 and aarch64")


def _elf(machine: int, code: bytes) -> bytes:
    signals = (1 << (_SIGINT - 1)) | (1 << (_SIGTERM - 1))
    data = struct.pack("<Q4Q", signals, _SIG_IGN, 0, 0, 0)
    size = _HEADERS + len(data) + len(code)
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)  # 64 bits, little endian, version 1
    header = identity + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, _CODE, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000)  # PT_LOAD, readable and executable
    return header + segment + data + code


def _x86_64() -> bytes:
    calls = _SYSCALLS_X86_64

    def call(name: str, first: int, second: int) -> bytes:
        """mov eax; mov edi; mov esi; xor edx, edx; mov r10d; syscall. 32-bit moves clear the upper halves."""
        loads = struct.pack("<BIBIBI", 0xB8, calls[name], 0xBF, first, 0xBE, second)
        return loads + b"\x31\xd2" + b"\x41\xba" + struct.pack("<I", _SIGSET_BYTES) + b"\x0f\x05"

    wait = call("sigtimedwait", _SET, 0) + b"\x85\xc0"  # test eax, eax
    again = b"\x78" + struct.pack("<b", -(len(wait) + 2))  # js wait
    return call("sigprocmask", 0, _SET) + call("sigaction", _SIGCHLD, _ACTION) + wait + again + call("exit", 0, 0)


def _aarch64() -> bytes:
    calls = _SYSCALLS_AARCH64

    def load(register: int, value: int) -> list[int]:
        """movz xR, #low; movk xR, #high, lsl 16."""
        low, high = value & 0xFFFF, value >> 16
        return [0xD2800000 | low << 5 | register, 0xF2A00000 | high << 5 | register]

    def call(name: str, first: int, second: int) -> list[int]:
        arguments = load(0, first) + load(1, second) + load(2, 0) + load(3, _SIGSET_BYTES) + load(8, calls[name])
        return [*arguments, 0xD4000001]  # svc #0

    wait = call("sigtimedwait", _SET, 0)
    again = 0xB7F80000 | (-len(wait) & 0x3FFF) << 5  # tbnz x0, #63, wait
    code = [*call("sigprocmask", 0, _SET), *call("sigaction", _SIGCHLD, _ACTION), *wait, again, *call("exit", 0, 0)]
    return struct.pack(f"<{len(code)}I", *code)
