import { FileDigit } from 'lucide-react';
import { EmptyState } from '../../../../components/EmptyState.tsx';
import { formatBytes } from '../../../../format.ts';
import { filesMessages } from '../../../../messages/files.ts';
import { FileFrame, type FrameProps } from './FileFrame.tsx';

const text = filesMessages.file;

interface Props {
  readonly frame: FrameProps;
  readonly size: number;
}

/** A file that is no text: it says so, and offers the download. */
export function BinaryFile({ frame, size }: Props) {
  return (
    <FileFrame {...frame}>
      <EmptyState icon={FileDigit} title={text.binary} text={text.binaryText(formatBytes(size))} />
    </FileFrame>
  );
}
