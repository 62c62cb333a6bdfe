import { Radio } from '@mantine/core';
import { RotateCw } from 'lucide-react';
import { useState } from 'react';
import { WriteDialog } from '../../components/forms/WriteDialog.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { serverSettingsMessages as text } from '../../messages/servers/settings.ts';
import { useSession } from '../../session/session.ts';
import { rightRefusal } from './server-right.ts';

type Files = keyof typeof text.fileChoices;
const KEEP: { readonly files: Files } = { files: 'keep' };
const FILES = Object.keys(text.fileChoices) as Files[];

interface Props {
  readonly uuid: string;
  readonly name: string;
  /** The caller's own to the server. */
  readonly rights: readonly string[];
}

/** Installs a server again, and asks what becomes of its files. */
export default function ReinstallButton({ uuid, name, rights }: Props) {
  const { client } = useSession();
  const [isAsking, setAsking] = useState(false);
  // Files that are not kept are deleted by who installs the server again.
  const refusalOf = (files: Files): string | null =>
    files === 'keep' ? null : rightRefusal(rights, 'file.delete');
  return (
    <>
      <RoleButton
        variant="default"
        refusal={rightRefusal(rights, 'settings.reinstall')}
        leftSection={<RotateCw size={15} aria-hidden="true" />}
        onClick={() => setAsking(true)}
      >
        {text.again}
      </RoleButton>
      {isAsking && (
        <WriteDialog
          title={text.againTitle(name)}
          submit={text.again}
          isFinal
          initial={KEEP}
          write={({ files }) => client.reinstallGameServer({ slice: uuid, query: { files } })}
          onClose={() => setAsking(false)}
        >
          {({ values: { files }, setFieldValue }) => (
            <div className="stack">
              <p className="flat">{text.againText}</p>
              <Radio.Group
                label={text.files}
                value={files}
                onChange={(chosen) => setFieldValue('files', chosen)}
              >
                <div className="stack">
                  {FILES.map((one) => (
                    <Radio
                      key={one}
                      value={one}
                      label={text.fileChoices[one].label}
                      description={refusalOf(one) ?? text.fileChoices[one].text}
                      disabled={refusalOf(one) !== null}
                    />
                  ))}
                </div>
              </Radio.Group>
            </div>
          )}
        </WriteDialog>
      )}
    </>
  );
}
