import { join } from 'node:path';

/** Loads the last table of the state directory given as its argument. */
export const BOOT_SCRIPT = join(import.meta.dirname, 'load.sh');
/** Capabilities of the unit: for nftables alone. */
export const BOOT_CAPABILITIES = ['net_admin'] as const;
export const BOOT_UNIT = 'portcullis-boot.service';

/**
 * The systemd unit that runs the script: after other services that set up the packet filter (nftables.service starts
 * with `flush ruleset`), before any interface is configured, and with the capability for the packet filter only.
 */
export function renderBootUnit(stateDir: string): string {
  const paths = [BOOT_SCRIPT, stateDir].map(quoteUnitWord).join(' ');
  return `[Unit]
Description=Portcullis: load the last enforced table before the network comes up
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
CapabilityBoundingSet=${BOOT_CAPABILITIES.map((name) => `CAP_${name.toUpperCase()}`).join(' ')}
NoNewPrivileges=yes
ProtectSystem=strict

[Install]
WantedBy=sysinit.target
`;
}

/** Quotes a word of a unit file: systemd.syntax(7), "Specifiers" in systemd.unit(5). */
export function quoteUnitWord(path: string): string {
  const escaped = path.replaceAll('%', '%%').replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  return `"${escaped}"`;
}
