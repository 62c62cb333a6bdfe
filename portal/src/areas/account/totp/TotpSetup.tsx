import { Button, Modal, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { TotpSetup as Setup } from '@portcullis/client/index.ts';
import { type SubmitEvent, useMemo, useState } from 'react';
import { encode } from 'uqr';
import { CopyIcon } from '../../../components/CopyIcon.tsx';
import { PasswordPrompt } from '../../../components/PasswordPrompt.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';

const text = messages.account.totp;

interface Props {
  onClose(): void;
  /** It is on; these are shown once. */
  onCodes(codes: readonly string[]): void;
}

/** Password, then the QR code, then the first code of the app. */
export function TotpSetup({ onClose, onCodes }: Props) {
  const begin = useMutation({
    mutationFn: async (password: string) =>
      (await personClient.beginTotp({ body: { password } })).data,
  });
  if (begin.data !== undefined) {
    return <FirstCode setup={begin.data} onClose={onClose} onCodes={onCodes} />;
  }
  return (
    <PasswordPrompt title={text.setUp} confirm={text.next} write={begin} onClose={onClose}>
      <div>{text.setUpText}</div>
    </PasswordPrompt>
  );
}

function FirstCode({ setup, onClose, onCodes }: Props & { readonly setup: Setup['data'] }) {
  const [code, setCode] = useState('');
  const confirm = useMutation({
    mutationFn: async () =>
      (await personClient.confirmTotp({ body: { code } })).data.recovery_codes,
    onSuccess: onCodes,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    confirm.mutate();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.setUp}
      size="lg"
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <form className="totp" onSubmit={submit}>
        <QrCode text={setup.uri} />
        <div className="stack">
          <div>{text.scan}</div>
          <div className="secret">
            <output className="mono" aria-label={text.secret}>
              {setup.secret.replaceAll(/.{4}(?=.)/g, '$& ')}
            </output>
            <CopyIcon value={setup.secret} label={text.copySecret} />
          </div>
          <TextInput
            data-autofocus
            label={text.code}
            description={text.codeHint}
            inputMode="numeric"
            autoComplete="one-time-code"
            value={code}
            maxLength={6}
            onChange={(event) => setCode(event.currentTarget.value.trim())}
            required
          />
          <ProblemNotice error={confirm.error} />
          <div className="row">
            <Button type="submit" loading={confirm.isPending} disabled={!/^\d{6}$/.test(code)}>
              {text.turnOn}
            </Button>
            <Button variant="subtle" color="gray" onClick={onClose}>
              {messages.cancel}
            </Button>
          </div>
        </div>
      </form>
    </Modal>
  );
}

const QUIET_ZONE = 4;

/** Black on white in both themes, because not every camera reads the inverse. */
function QrCode({ text: encoded }: { readonly text: string }) {
  const { size, data } = useMemo(
    () => encode(encoded, { ecc: 'M', border: QUIET_ZONE }),
    [encoded],
  );
  const path = data
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={text.qr}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
