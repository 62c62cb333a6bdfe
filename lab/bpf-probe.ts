import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';

/** Whether this machine takes BPF programs: its exit code, and its last words. */
const lack = createKernelDriver({ pins: '' }).probe();
if (lack !== null) console.error(lack);
process.exitCode = lack === null ? 0 : 1;
