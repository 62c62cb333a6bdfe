import { Download, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { RoleIcon } from '../../../../components/RoleIcon.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { Breadcrumbs } from '../Breadcrumbs.tsx';
import { nameOf } from '../paths.ts';
import { useDownloads } from '../use-downloads.ts';

const text = filesMessages.file;

export interface FrameProps {
  readonly uuid: string;
  readonly path: string;
  toFolder(path: string): void;
  onClose(): void;
}

interface Props extends FrameProps {
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The card of one file: where it is, what can be done with it, and the way back. */
export function FileFrame({ uuid, path, toFolder, onClose, actions, children }: Props) {
  const download = useDownloads(uuid);
  return (
    <section className="card grid" aria-label={nameOf(path)}>
      <div className="tools card-pad">
        <Breadcrumbs path={path} toFolder={toFolder} />
        <div className="row-end">
          {actions}
          <RoleIcon label={text.download} onClick={() => download([{ path, type: 'file' }], '')}>
            <Download size={17} />
          </RoleIcon>
          <RoleIcon label={text.close} onClick={onClose}>
            <X size={17} />
          </RoleIcon>
        </div>
      </div>
      {children}
    </section>
  );
}
