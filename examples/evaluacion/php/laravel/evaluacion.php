<?php
// El sistema de evaluación, con la base de datos de Laravel (Eloquent), avisa de que se ha abierto una evaluación, y después mira
// qué fue de los avisos.
//
//   apt install php-cli php-mysql php-laravel-framework
//   php evaluacion.php abrir 42 'Convocatoria 2026' 7 8 9      la evaluación 42, a las entidades 7, 8 y 9
//   php evaluacion.php ver 42
//
// Se conecta como dicen EVALUACION_SERVIDOR (o EVALUACION_SOCKET), EVALUACION_BASE, EVALUACION_USUARIO y EVALUACION_CONTRASENA
// (vacía, si el servidor reconoce al usuario por el socket).

use Illuminate\Database\Capsule\Manager as DB; // en una aplicación de Laravel: use Illuminate\Support\Facades\DB;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Support\Carbon;

require 'Illuminate/autoload.php';

class Resultado extends Model // una vista del servicio: no se escribe
{
    protected $table = 'notificaciones_resultado';
    protected $primaryKey = 'notificacion_id';
    public $timestamps = false;
}

function obligatoria(string $nombre): string
{
    $valor = getenv($nombre);
    if ($valor === false) {
        fwrite(STDERR, "falta $nombre: póngala como dicen las primeras líneas de evaluacion.php\n");
        exit(1);
    }
    return $valor;
}

function conectar(): void
{
    $gestor = new DB();
    $gestor->addConnection([ // en una aplicación de Laravel, esto va en config/database.php
        'driver' => 'mysql',
        'host' => getenv('EVALUACION_SERVIDOR') ?: 'localhost',
        'unix_socket' => getenv('EVALUACION_SOCKET') ?: '',
        'database' => getenv('EVALUACION_BASE') ?: 'apientidades',
        'username' => getenv('EVALUACION_USUARIO') ?: 'evaluacion',
        'password' => obligatoria('EVALUACION_CONTRASENA'),
        'charset' => 'utf8mb4', // con otro juego de caracteres las eñes y los emojis llegan estropeados
        'collation' => 'utf8mb4_bin',
        // Sin el modo estricto, un valor que no cabe se cambia por otro sin avisar.
        'modes' => ['STRICT_TRANS_TABLES', 'NO_ZERO_DATE', 'NO_ZERO_IN_DATE', 'ERROR_FOR_DIVISION_BY_ZERO'],
        // Con el nivel de aislamiento de serie, una transacción abierta puede retrasar los avisos de todas las entidades.
        'isolation_level' => 'READ COMMITTED',
    ]);
    $gestor->setAsGlobal();
    $gestor->bootEloquent();
}

// Una fila por entidad. Si la clave ya se usó, esta entidad ya está avisada: un proceso que se repite no avisa dos veces.
function avisar(string $entidad, string $evento, array $datos, string $clave): void
{
    $json = json_encode($datos, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
    [$fila] = DB::connection()->select('CALL avisar(?, ?, ?, ?)', [$entidad, $evento, $json, $clave]);
    if ($fila->conocida) {
        echo "entidad $entidad: ya estaba avisada\n";
    }
}

// Todo en una transacción: si algo falla no se abre la evaluación, ni se avisa a nadie.
function abrir(int $evaluacion, string $titulo, array $entidades): void
{
    DB::connection()->transaction(function () use ($evaluacion, $titulo, $entidades) {
        // Aquí van los cambios de su programa: MiEvaluacion::find($evaluacion)->update(['estado' => 'abierta']);
        foreach ($entidades as $entidad) {
            $datos = ['evaluacionId' => $evaluacion, 'titulo' => $titulo];
            avisar($entidad, 'evaluacion.abierta', $datos, "abierta-$evaluacion");
        }
    });
}

function ver(int $evaluacion): void
{
    $filas = Resultado::where('evento', 'evaluacion.abierta')->where('ocurrida_en', '>=', Carbon::now('UTC')->subDays(30))
        ->where('clave', "abierta-$evaluacion")->orderBy('entidad_id')->get();
    foreach ($filas as $fila) {
        echo "entidad $fila->entidad_id: $fila->estado, $fila->entregadas de $fila->webhooks entregadas",
            $fila->ultimo_error === null ? '' : "; $fila->ultimo_error", "\n";
    }
}

[, $orden, $evaluacion] = $argv;
conectar();
if ($orden === 'abrir') {
    abrir((int) $evaluacion, $argv[3], array_slice($argv, 4));
} else {
    ver((int) $evaluacion);
}
