const KEY = 'portcullis.uploads';
const MAX_KEPT = 200;

/**
 * The files that this browser began to upload, so that one is resumed only by the same file: a part of another of the
 * same size would make a file that is neither.
 */
export function createBegunUploads(server: string, storage: Storage) {
  const nameOf = (path: string): string => `${server} ${path}`;
  const change = (edit: (marks: Record<string, string>) => void): void => {
    const marks = readMarks(storage);
    edit(marks);
    const newest = Object.entries(marks).slice(-MAX_KEPT);
    try {
      storage.setItem(KEY, JSON.stringify(Object.fromEntries(newest)));
    } catch {
      // Where storage is blocked or full, an upload begins anew.
    }
  };
  return {
    wasBegun: (path: string, file: File): boolean =>
      readMarks(storage)[nameOf(path)] === markOf(file),
    begun(path: string, file: File): void {
      change((marks) => {
        marks[nameOf(path)] = markOf(file);
      });
    },
    ended(path: string): void {
      change((marks) => {
        delete marks[nameOf(path)];
      });
    },
  };
}

function markOf({ size, lastModified }: File): string {
  return `${size} ${lastModified}`;
}

function readMarks(storage: Storage): Record<string, string> {
  try {
    const value: unknown = JSON.parse(storage.getItem(KEY) ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, string>) : {};
  } catch {
    return {};
  }
}
