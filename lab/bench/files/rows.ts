import type { FileHost } from '../../stack/file-host.ts';
import type { Row } from '../report.ts';

/** Measures something of the files of a server that runs on this host. */
export type FileRows = (host: FileHost, say: (line: string) => void) => Promise<readonly Row[]>;
