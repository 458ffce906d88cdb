"""In plain words at the start: what is open to whom."""

from __future__ import annotations

import ipaddress

from foldwalk.service.settings import LOOPBACK, ServiceSettings


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK


def who_may(settings: ServiceSettings, host: str) -> list[str]:
    """One sentence each on reading, changing, names and encryption."""
    network = not is_loopback(host)
    everyone = f"everyone who reaches {host} over the network" if network else "everyone on this machine"
    readers = "whoever shows the token for it" if settings.read_token else f"{everyone}, without a token"
    writers = "whoever shows the token for them" if settings.writes else "no one; --writes allows them"
    names = "any name" if "*" in settings.hosts else ", ".join(settings.hosts)
    sentences = [f"reading: {readers}.", f"changes: {writers}.", f"it answers to {names}."]
    if network:
        sentences.append("it does not encrypt: put a proxy with TLS in front of it.")
    return sentences
