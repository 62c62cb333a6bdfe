import { missing } from '../../requirements.ts';
import { FileHost } from '../../stack/file-host.ts';
import type { Bench, Row } from '../report.ts';
import { httpRows } from './http.ts';
import type { FileRows } from './rows.ts';
import { sftpRows } from './sftp.ts';

/** The doors to the files, each with its own rows. */
const DOORS: readonly FileRows[] = [httpRows, sftpRows];

/** Files through control and through SFTP, beside what else serves files on the same disk. */
export const filesBench: Bench = {
  name: 'files',
  missing: () => missing(['nginx', 'sshd']),
  async run(say) {
    const ended = new AbortController();
    const life = { name: 'bench files', signal: ended.signal };
    const host = await FileHost.start(life, { sftp: true, onDisk: true });
    try {
      const rows: Row[] = [];
      for (const measure of DOORS) rows.push(...(await measure(host, say)));
      return rows;
    } finally {
      await host.stop();
      ended.abort();
    }
  },
};
