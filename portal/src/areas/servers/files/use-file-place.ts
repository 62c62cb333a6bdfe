import { useNavigate, useSearch } from '@tanstack/react-router';

/** The place of the tab that the address of the page names, so that “back” goes to the folder before. */
export interface FilePlace {
  readonly folder: string;
  /** The file that is open; null: the folder is shown. */
  readonly file: string | null;
  readonly line: number | null;
  toFolder(path: string): void;
  toFile(path: string, line?: number): void;
}

export function useFilePlace(): FilePlace {
  const { path = '', file = null, line = null } = useSearch({ strict: false });
  const navigate = useNavigate();
  const go = (search: object): void =>
    void navigate({ to: '.', search: { tab: 'files', ...search } as never });
  return {
    folder: path,
    file,
    line,
    toFolder: (to) => go(to === '' ? {} : { path: to }),
    toFile: (to, at) =>
      go({ ...(path !== '' && { path }), file: to, ...(at !== undefined && { line: at }) }),
  };
}
