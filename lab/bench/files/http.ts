import type { FileRows } from './files.ts';
import type { Row } from '../report.ts';

/** Uploads and downloads over HTTP. */
export const httpRows: FileRows = async (_host, _say) => {
  const rows: Row[] = [];
  return rows;
};
