<?php
// Receptor de avisos de apientidades, sin bibliotecas: comprueba X-Webhook-Signature, el HMAC-SHA256 del cuerpo.
//
// Póngalo en su servidor web (PHP 8.1 o posterior), que es quien tiene el certificado. RECEPTOR_SECRETO (y,
// mientras cambia el secreto, RECEPTOR_SECRETO_ANTERIOR) son variables de entorno de PHP: con php-fpm,
// `env[RECEPTOR_SECRETO] = …`.
// RECEPTOR_CARPETA es una carpeta en la que PHP pueda escribir y que la web no publique; sin ella no se acepta ningún aviso.
// Quien envía poco a poco no ocupa PHP: el servidor web recibe la petición entera antes de llamarlo (nginx lo hace; en Apache,
// mod_reqtimeout pone el plazo).

const RECORDADOS = 10000; // avisos que se recuerdan, para no procesar dos veces una repetición
const ANTIGUEDAD = 300; // segundos

// Un secreto en blanco es como ninguno, y «whsec_» sin nada detrás también: con una clave que se adivina firma cualquiera.
function secreto(string $variable): string
{
    $valor = (string) getenv($variable);
    return in_array(trim($valor), ['', 'whsec_'], true) ? '' : $valor;
}

// Mientras se cambia el secreto, X-Webhook-Signature se firma con el anterior y X-Webhook-Signature-Nueva con el nuevo.
// hash_equals las compara en un tiempo que no depende de cuánto coincidan. Estas dos firmas solo cubren el cuerpo:
// `webhook-signature` cubre además la hora y el webhook-id.
function esAutentico(string $cuerpo): bool
{
    $secretos = array_filter([secreto('RECEPTOR_SECRETO'), secreto('RECEPTOR_SECRETO_ANTERIOR')]);
    $cabeceras = [$_SERVER['HTTP_X_WEBHOOK_SIGNATURE'] ?? '', $_SERVER['HTTP_X_WEBHOOK_SIGNATURE_NUEVA'] ?? ''];
    $firmas = preg_split('/, */', implode(',', $cabeceras)); // PHP junta con comas una cabecera que llega dos veces
    foreach ($secretos as $secreto) {
        $esperada = 'sha256=' . hash_hmac('sha256', $cuerpo, $secreto);
        foreach ($firmas as $firma) {
            if (hash_equals($esperada, $firma)) {
                return true;
            }
        }
    }
    return false;
}

function esDeAhora(): bool
{
    $hora = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    return ctype_digit($hora) && abs(time() - (int) $hora) <= ANTIGUEDAD;
}

// Anota el aviso y dice si llega por primera vez. En su programa: un INSERT en su base de datos, con `webhook-id` como clave
// única, para no procesar dos veces una repetición ni perder avisos en un corte de luz.
function guardar(string $identificador): bool
{
    $fichero = fopen(getenv('RECEPTOR_CARPETA') . '/avisos-recibidos', 'c+');
    flock($fichero, LOCK_EX);
    $vistos = explode("\n", stream_get_contents($fichero));
    $esNuevo = !in_array($identificador, $vistos, true);
    if ($esNuevo) {
        $vistos = array_slice([...$vistos, $identificador], -RECORDADOS);
        ftruncate($fichero, 0);
        rewind($fichero);
        fwrite($fichero, implode("\n", $vistos));
    }
    fclose($fichero);
    return $esNuevo;
}

// Se llama cuando ya se ha respondido. Ponga aquí lo que su programa haga con el aviso.
function procesar(string $identificador, array $aviso): void
{
    $datos = json_encode($aviso['data'], JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION);
    file_put_contents('php://stdout', "procesado $identificador {$aviso['evento']} $datos\n");
}

function responder(int $estado): void
{
    http_response_code($estado);
    if (function_exists('fastcgi_finish_request')) {
        fastcgi_finish_request(); // con php-fpm la respuesta sale ya, y no espera a lo que sigue
    }
}

if (secreto('RECEPTOR_SECRETO') === '') {
    error_log('RECEPTOR_SECRETO falta o está incompleta: póngala como dicen las primeras líneas de receptor.php');
    responder(500);
    exit;
}
// No hay una carpeta por omisión: en /tmp, otro usuario de la máquina podría haber puesto ya un enlace con ese nombre.
if (!is_dir((string) getenv('RECEPTOR_CARPETA')) || !is_writable(getenv('RECEPTOR_CARPETA'))) {
    error_log('RECEPTOR_CARPETA debe ser una carpeta en la que PHP pueda escribir');
    responder(500);
    exit;
}
$cuerpo = file_get_contents('php://input'); // los bytes tal como llegaron: se firman esos
$identificador = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
if (!preg_match('/^[\w.-]{1,100}$/', $identificador) || !esAutentico($cuerpo) || !esDeAhora()) {
    responder(401);
    exit;
}
$esNuevo = guardar($identificador);
responder(204);
if ($esNuevo) {
    try {
        $aviso = json_decode($cuerpo, true, 64, JSON_BIGINT_AS_STRING);
        isset($aviso['evento'], $aviso['data']) or throw new UnexpectedValueException('no es JSON, o le falta evento o data');
        procesar($identificador, $aviso);
    } catch (Throwable $fallo) { // el registro de errores dice con qué aviso
        error_log("no se ha podido procesar $identificador: $fallo");
    }
}
