import { Loaded } from '../../../../components/Loaded.tsx';
import { Notice } from '../../../../components/Notice.tsx';
import { formatBytes, formatShare } from '../../../../format.ts';
import { filesMessages } from '../../../../messages/files.ts';
import { FileIcon } from '../FileIcon.tsx';
import { joinPath } from '../paths.ts';
import { useDiskUse } from '../queries.ts';
import type { Browser } from '../use-browser.ts';

const text = filesMessages.usage;
const SHOWN = 40;

/** The disk use of a folder as bars; a folder opens to what is in it. */
export function DiskUseView({ browser }: { readonly browser: Browser }) {
  const { uuid, folder, toFolder } = browser;
  const query = useDiskUse(uuid, folder);
  return (
    <div className="panel">
      <Loaded query={query}>
        {({ bytes, entries, complete, children }) => (
          <div className="stack">
            <p className="flat dim">{text.total(formatBytes(bytes), entries)}</p>
            {!complete && <Notice kind="warn">{text.incomplete}</Notice>}
            <div className="bars disk-use">
              {children.slice(0, SHOWN).map((child) => (
                <div key={child.name} className="bar">
                  <span className="file-name">
                    <FileIcon entry={child} />
                    {child.type === 'folder' ? (
                      <button
                        type="button"
                        className="file-open"
                        onClick={() => toFolder(joinPath(folder, child.name), 'usage')}
                      >
                        {child.name}
                      </button>
                    ) : (
                      <span className="wrap">{child.name}</span>
                    )}
                  </span>
                  <meter
                    aria-label={text.of(child.name)}
                    min={0}
                    max={Math.max(1, bytes)}
                    value={child.bytes}
                  />
                  <span className="num">
                    {formatBytes(child.bytes)}{' '}
                    <span className="dim">{formatShare(child.bytes / Math.max(1, bytes))}</span>
                  </span>
                </div>
              ))}
              {children.length > SHOWN && (
                <p className="flat dim">{text.more(children.length - SHOWN)}</p>
              )}
              {children.length === 0 && <p className="flat dim">{text.empty}</p>}
            </div>
          </div>
        )}
      </Loaded>
    </div>
  );
}
