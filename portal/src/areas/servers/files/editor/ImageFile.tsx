import type { FileContent } from '@portcullis/client/index.ts';
import { formatBytes } from '../../../../format.ts';
import { filesMessages } from '../../../../messages/files.ts';
import { nameOf } from '../paths.ts';
import { FileFrame, type FrameProps } from './FileFrame.tsx';

interface Props {
  readonly frame: FrameProps;
  readonly content: FileContent['data'];
  readonly type: string;
}

/** An image. As the source of an `<img>` it runs no script, whatever it holds. */
export function ImageFile({ frame, content: { encoding, content, size }, type }: Props) {
  const data =
    encoding === 'base64' ? `base64,${content}` : `charset=utf-8,${encodeURIComponent(content)}`;
  return (
    <FileFrame {...frame}>
      <figure className="file-image">
        <img src={`data:${type};${data}`} alt={nameOf(frame.path)} />
        <figcaption className="dim">{filesMessages.file.image(formatBytes(size))}</figcaption>
      </figure>
    </FileFrame>
  );
}
