import { Button, Menu } from '@mantine/core';
import { Download } from 'lucide-react';
import { messages } from '../messages/index.ts';
import { saveFile } from '../download.ts';

const text = messages.download;

interface Props {
  /** The name of the file, without its ending. */
  readonly name: string;
  readonly labels?: { readonly csv: string; readonly json: string };
  toCsv(): string;
  toJson(): unknown;
}

/** Saves what the page shows, as the page has it: nothing is asked of the service. */
export function DownloadMenu({ name, labels = text, toCsv, toJson }: Props) {
  const save = (kind: 'csv' | 'json'): void => {
    if (kind === 'csv') saveFile(`${name}.csv`, 'text/csv', toCsv());
    else saveFile(`${name}.json`, 'application/json', `${JSON.stringify(toJson(), null, 2)}\n`);
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<Download size={15} aria-hidden="true" />}>
          {text.button}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => save('csv')}>{labels.csv}</Menu.Item>
        <Menu.Item onClick={() => save('json')}>{labels.json}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
