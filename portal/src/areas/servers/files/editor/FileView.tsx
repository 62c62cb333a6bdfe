import { ProblemError } from '@portcullis/client/index.ts';
import { FileLock } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../../components/EmptyState.tsx';
import { Loaded } from '../../../../components/Loaded.tsx';
import { filesMessages } from '../../../../messages/files.ts';
import { useSession } from '../../../../session/session.ts';
import { refusalOf } from '../actions.ts';
import { nameOf } from '../paths.ts';
import { BinaryFile } from './BinaryFile.tsx';
import { FileFrame, type FrameProps } from './FileFrame.tsx';
import { fileKind, imageType } from './file-kind.ts';
import { ImageFile } from './ImageFile.tsx';
import { LogFile } from './LogFile.tsx';
import { TextFile } from './TextFile.tsx';
import { useOnce } from './use-once.ts';

const text = filesMessages.file;

interface Props {
  readonly uuid: string;
  readonly rights: readonly string[];
  readonly path: string;
  /** The line that is shown first. */
  readonly line: number | null;
  toFolder(path: string): void;
  onClose(): void;
}

/** One file: text to edit, an image, the end of a log, or why it cannot be shown. */
export default function FileView({ uuid, rights, path, line, toFolder, onClose }: Props) {
  const refusal = refusalOf('open', rights);
  const [isLog, setLog] = useState(() => fileKind(nameOf(path)) === 'log');
  const frame: FrameProps = { uuid, path, toFolder, onClose };
  if (refusal !== null) {
    return (
      <FileFrame {...frame}>
        <EmptyState icon={FileLock} title={text.refused} text={refusal} />
      </FileFrame>
    );
  }
  if (isLog) return <LogFile frame={frame} onEdit={() => setLog(false)} isTooLarge={false} />;
  return <Whole frame={frame} rights={rights} line={line} />;
}

interface WholeProps {
  readonly frame: FrameProps;
  readonly rights: readonly string[];
  readonly line: number | null;
}

/** A file that is read as a whole, or its end where it is too large for that. */
function Whole({ frame, rights, line }: WholeProps) {
  const { client } = useSession();
  const { uuid: slice, path } = frame;
  const query = useOnce((signal) => client.readFile({ slice, query: { path } }, { signal }));
  const { error } = query;
  if (error instanceof ProblemError && error.code === 'limit_exceeded')
    return <LogFile frame={frame} onEdit={null} isTooLarge />;
  if (query.data !== undefined) {
    const { data: content, response } = query.data;
    const image = imageType(nameOf(path));
    if (image !== null && content.size > 0)
      return <ImageFile frame={frame} content={content} type={image} />;
    if (content.encoding !== 'utf-8') return <BinaryFile frame={frame} size={content.size} />;
    const stored = { text: content.content, etag: response.etag };
    return <TextFile {...{ frame, rights, line, stored }} />;
  }
  return (
    <FileFrame {...frame}>
      <Loaded query={query}>{() => null}</Loaded>
    </FileFrame>
  );
}
