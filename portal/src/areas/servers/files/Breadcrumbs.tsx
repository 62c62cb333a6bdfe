import { House } from 'lucide-react';
import { filesMessages } from '../../../messages/files.ts';
import { crumbsOf } from './paths.ts';
import type { DropTarget } from './table/use-drop.ts';

const text = filesMessages.crumbs;

interface Props {
  readonly path: string;
  /** Absent: nothing can be dropped on them. */
  dropTo?(folder: string): DropTarget;
  toFolder(path: string): void;
}

/** The way to a folder or file; each folder on it opens, and takes what is dropped on it. */
export function Breadcrumbs({ path, dropTo, toFolder }: Props) {
  const crumbs = [{ name: text.root, path: '' }, ...crumbsOf(path)];
  return (
    <nav aria-label={text.label} className="file-crumbs">
      <ol>
        {crumbs.map((crumb, index) => {
          const isLast = index === crumbs.length - 1;
          const shown = index === 0 ? <House size={16} aria-hidden="true" /> : crumb.name;
          const drop = isLast ? undefined : dropTo?.(crumb.path);
          return (
            <li key={crumb.path}>
              {isLast ? (
                <span aria-current="page" aria-label={index === 0 ? text.root : undefined}>
                  {shown}
                  {index === 0 && <span> {text.root}</span>}
                </span>
              ) : (
                <button
                  type="button"
                  aria-label={index === 0 ? text.root : undefined}
                  data-over={drop?.isOver === true ? '' : undefined}
                  onClick={() => toFolder(crumb.path)}
                  onDragOver={drop?.onDragOver}
                  onDragLeave={drop?.onDragLeave}
                  onDrop={drop?.onDrop}
                >
                  {shown}
                </button>
              )}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}
