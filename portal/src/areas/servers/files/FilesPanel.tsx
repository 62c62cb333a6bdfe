import { FolderLock, HardDrive } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { filesMessages } from '../../../messages/files.ts';
import '../../../styles/files.css';
import { rightRefusal } from '../server-right.ts';
import { FileBrowser } from './FileBrowser.tsx';
import { useFilePlace } from './use-file-place.ts';

const FileView = lazy(() => import('./editor/FileView.tsx'));

const text = filesMessages.panel;

interface Props {
  readonly uuid: string;
  /** The caller's own rights to the server. */
  readonly rights: readonly string[];
  readonly isBuilt: boolean;
}

/** The files of a server: its folders, and one file at a time. */
export default function FilesPanel({ uuid, rights, isBuilt }: Props) {
  const { file, line, folder, toFolder } = useFilePlace();
  const refusal = rightRefusal(rights, 'file.read');
  if (refusal !== null)
    return <EmptyState inCard icon={FolderLock} title={text.refused} text={refusal} />;
  if (!isBuilt) return <EmptyState inCard icon={HardDrive} {...text.notBuilt} />;
  if (file === null) return <FileBrowser uuid={uuid} rights={rights} />;
  return (
    <Suspense fallback={<Loading />}>
      <FileView
        key={`${uuid} ${file}`}
        uuid={uuid}
        rights={rights}
        path={file}
        line={line}
        toFolder={toFolder}
        onClose={() => toFolder(folder)}
      />
    </Suspense>
  );
}
