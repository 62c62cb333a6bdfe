import { join } from 'node:path';

/** Loads the last table of a state directory; takes its path as the argument. */
export const BOOT_SCRIPT = join(import.meta.dirname, 'load.sh');
export const BOOT_UNIT = 'portcullis-boot.service';

/**
 * The systemd unit that runs it: after whatever else sets the packet filter up (nftables.service begins with
 * `flush ruleset`), before any interface is configured, and with the right to change the packet filter only.
 */
export function renderBootUnit(stateDir: string): string {
  const paths = [BOOT_SCRIPT, stateDir].map(quoted).join(' ');
  return `[Unit]
Description=Portcullis: what the edge last enforced, before the network comes up
DefaultDependencies=no
RequiresMountsFor=${paths}
After=local-fs.target systemd-modules-load.service nftables.service
Wants=network-pre.target
Before=network-pre.target shutdown.target
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh ${paths.replaceAll('$', '$$$$')}
CapabilityBoundingSet=CAP_NET_ADMIN
NoNewPrivileges=yes
ProtectSystem=strict

[Install]
WantedBy=sysinit.target
`;
}

/** A word of a unit file (systemd.syntax(7), "Specifiers" in systemd.unit(5)); commands read a `$` besides. */
function quoted(path: string): string {
  const escaped = path.replaceAll('%', '%%').replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  return `"${escaped}"`;
}
