import { SegmentedControl } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { FilesFound } from '@portcullis/client/index.ts';
import { Search, SearchX } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../../components/EmptyState.tsx';
import { SearchField } from '../../../../components/list/SearchField.tsx';
import { Loaded } from '../../../../components/Loaded.tsx';
import { Notice } from '../../../../components/Notice.tsx';
import { formatBytes } from '../../../../format.ts';
import { filesMessages } from '../../../../messages/files.ts';
import { FileIcon } from '../FileIcon.tsx';
import { folderOf, nameOf } from '../paths.ts';
import { useFound, type Wanted } from '../queries.ts';
import type { Browser } from '../use-browser.ts';

const text = filesMessages.search;
/** A search is work for the node, so it waits for the end of a word. */
const PAUSE_MS = 400;

/** Files below the folder, by a part of the name or of a line. */
export function SearchView({ browser }: { readonly browser: Browser }) {
  const { uuid, folder } = browser;
  const [typed, setTyped] = useState('');
  const [by, setBy] = useState<Wanted['by']>('name');
  const [words] = useDebouncedValue(typed.trim(), PAUSE_MS);
  const textRefusal = browser.refusal('searchText', []);
  const found = useFound(uuid, { path: folder, by, words });
  return (
    <>
      <div className="files-search">
        <SegmentedControl
          aria-label={text.by}
          value={by}
          onChange={(next) => setBy(next === 'text' ? 'text' : 'name')}
          data={[
            { value: 'name', label: text.names },
            { value: 'text', label: text.texts, disabled: textRefusal !== null },
          ]}
        />
        <SearchField
          label={by === 'name' ? text.nameField : text.textField}
          value={typed}
          onChange={setTyped}
        />
        <span className="dim">{text.below(folder)}</span>
        {textRefusal !== null && <span className="dim">{textRefusal}</span>}
      </div>
      {words === '' ? (
        <EmptyState icon={Search} {...text.nothing} />
      ) : (
        <Loaded query={found}>
          {({ data, meta }) => <Found data={data} isComplete={meta.complete} browser={browser} />}
        </Loaded>
      )}
    </>
  );
}

interface FoundProps {
  readonly data: FilesFound['data'];
  readonly isComplete: boolean;
  readonly browser: Browser;
}

function Found({ data, isComplete, browser }: FoundProps) {
  if (data.length === 0 && isComplete) return <EmptyState icon={SearchX} {...text.none} />;
  const open = ({ path, type, line }: FilesFound['data'][number]): void => {
    if (type === 'folder') browser.toFolder(path);
    else if (browser.refusal('open', []) === null) browser.openFile(path, line ?? undefined);
    else browser.toFolder(folderOf(path));
  };
  return (
    <>
      {!isComplete && (
        <div className="panel">
          <Notice kind="warn">{text.incomplete}</Notice>
        </div>
      )}
      <ul className="items files-found" aria-label={text.found(data.length)}>
        {data.map((each) => (
          <li key={`${each.path} ${each.line}`}>
            <FileIcon entry={{ name: nameOf(each.path), type: each.type }} />
            <div>
              <button type="button" className="file-open" onClick={() => open(each)}>
                {each.path}
              </button>
              {each.line !== null && (
                <div className="mono dim wrap">
                  {each.line}: {each.text}
                </div>
              )}
            </div>
            {each.type === 'file' && (
              <span className="row-end dim nowrap">{formatBytes(each.size)}</span>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
