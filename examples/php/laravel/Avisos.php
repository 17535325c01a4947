<?php
// Receptor de avisos de apientidades en Laravel, sin bibliotecas: comprueba webhook-signature.
//
// Va en app/Http/Controllers. En routes/api.php (la dirección será /api/avisos), y sin el límite de peticiones por minuto:
//
//     Route::post('/avisos', App\Http\Controllers\Avisos::class)->withoutMiddleware('throttle:api');
//
// En config/services.php:
//
//     'apientidades' => ['secreto' => env('RECEPTOR_SECRETO')],

namespace App\Http\Controllers;

use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Support\Facades\Cache;
use Illuminate\Support\Facades\Log;

class Avisos
{
    const ANTIGUEDAD = 300; // segundos

    public function __invoke(Request $request): Response
    {
        $cuerpo = $request->getContent(); // los bytes tal como llegaron: se firman esos
        $identificador = (string) $request->header('webhook-id');
        if (!$this->esAutentico($cuerpo, $identificador, $request)) {
            return response('', 401);
        }
        // `add` dice si llega por primera vez. En su programa: un INSERT en su base de datos, con `webhook-id` como clave única.
        if (Cache::add("aviso:$identificador", true, now()->addMonth())) {
            app()->terminating(fn () => $this->procesar($identificador, $cuerpo)); // con php-fpm, cuando ya se ha respondido
        }
        return response()->noContent();
    }

    // La firma es de «webhook-id.webhook-timestamp.cuerpo». Mientras se cambia el secreto, la cabecera trae dos.
    private function esAutentico(string $cuerpo, string $identificador, Request $request): bool
    {
        $hora = (string) $request->header('webhook-timestamp');
        $esDeAhora = ctype_digit($hora) && abs(time() - (int) $hora) <= self::ANTIGUEDAD;
        $esperada = 'v1,' . base64_encode(hash_hmac('sha256', "$identificador.$hora.$cuerpo", $this->clave(), true));
        $firmas = preg_split('/,? /', (string) $request->header('webhook-signature'));
        $coinciden = array_filter($firmas, fn ($firma) => hash_equals($esperada, $firma));
        return $esDeAhora && $coinciden !== [];
    }

    // Los bytes que codifica el base64 de un secreto whsec_…; en otro caso, los del secreto. Con una clave vacía firma cualquiera.
    private function clave(): string
    {
        $secreto = (string) config('services.apientidades.secreto');
        if (in_array(trim($secreto), ['', 'whsec_'], true)) {
            throw new \RuntimeException('falta RECEPTOR_SECRETO');
        }
        return str_starts_with($secreto, 'whsec_') ? base64_decode(substr($secreto, 6)) : $secreto;
    }

    // Ponga aquí lo que su programa haga con el aviso.
    private function procesar(string $identificador, string $cuerpo): void
    {
        $aviso = json_decode($cuerpo, true, 64, JSON_BIGINT_AS_STRING);
        Log::info("procesado $identificador {$aviso['evento']}", $aviso['data']);
    }
}
