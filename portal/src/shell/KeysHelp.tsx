import { Modal } from '@mantine/core';
import { Fragment } from 'react';
import { useAreas } from '../areas/index.ts';
import { messages } from '../messages/index.ts';

const text = messages.keys;

export default function KeysHelp({ onClose }: { onClose(): void }) {
  const areas = useAreas();
  const keys: readonly (readonly [readonly string[], string])[] = [
    [['Ctrl', 'K'], text.palette],
    [['/'], text.search],
    ...areas.map(({ letter, title }) => [['g', letter], text.go(title)] as const),
    [['n'], text.add],
    [['Esc'], text.close],
    [['?'], text.help],
  ];
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.title}
      closeButtonProps={{ 'aria-label': text.closeLabel }}
    >
      <dl className="keys">
        {keys.map(([names, meaning]) => (
          <Fragment key={meaning}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
    </Modal>
  );
}
